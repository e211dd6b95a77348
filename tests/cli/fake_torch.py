# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for torch: environments that seem to have it, wheels that seem to be it, an index that counts what is fetched."""

import base64
import hashlib
import http.server
import subprocess
import sys
import threading
import urllib.parse
import zipfile
from pathlib import Path

PIP_FOLDER = Path(sys.executable).parent.parent


def site(environment):
    return next((environment / "lib").glob("python3*")) / "site-packages"


def environment(folder, **versions):
    """A real virtual environment, without pip, in which packages of these versions seem to be installed."""
    subprocess.run(["python3", "-m", "venv", "--without-pip", str(folder)], check=True)
    for name, version in versions.items():
        (site(folder) / name).mkdir()
        (site(folder) / name / "__init__.py").write_text(f"__version__ = '{version}'\n")
        info = site(folder) / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return folder


def with_pip(folder):
    """A virtual environment with the pip of the Python that runs the tests: the one that ./millpond pins."""
    import pip
    environment(folder)
    package = Path(pip.__file__).parent
    for part in (package, *package.parent.glob("pip-*.dist-info")):
        (site(folder) / part.name).symlink_to(part)
    return folder


def wheel(folder, name, version, needs=(), weight=0):
    """A wheel of nothing but metadata and `weight` bytes."""
    folder.mkdir(exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    metadata = "".join([f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", *(f"Requires-Dist: {need}\n" for need in needs)])
    files = {
        f"{name.replace('-', '_')}/__init__.py": b"",
        f"{name.replace('-', '_')}/weight": b"\0" * weight,
        f"{stem}.dist-info/METADATA": metadata.encode(),
        f"{stem}.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = []
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(data)}\n")
    files[f"{stem}.dist-info/RECORD"] = "".join([*rows, f"{stem}.dist-info/RECORD,,\n"]).encode()
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name_inside, data in files.items():
            archive.writestr(name_inside, data)
    (folder / f"{path.name}.metadata").write_text(metadata)
    return path


def pinned(*wheels):
    """A list of requirements that names these wheels by hash."""
    lines = ["--require-hashes", "--only-binary :all:"]
    hashes = {}
    for path in wheels:
        name, version = path.name.split("-")[:2]
        pin = f"{name}=={version.partition('+')[0]}"
        hashes.setdefault(pin, []).append(f"    --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}")
    return "\n".join([*lines, *(" \\\n".join([pin, *found]) for pin, found in hashes.items())]) + "\n"


class Index:
    """A package index on this machine, with metadata beside each wheel as PyPI has it. `fetched` lists the wheels that were read."""

    def __init__(self, folder):
        self.fetched = []
        index = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_HEAD(self):
                self.answer(body=False)

            def do_GET(self):
                self.answer(body=True)

            def answer(self, body):
                parts = urllib.parse.unquote(self.path).strip("/").split("/")
                path = folder / parts[-1]
                if parts[0] == "simple":
                    names = [wheel.name for wheel in folder.glob(f"{parts[1].replace('-', '_')}-*.whl")]
                    data = "".join(f'<a href="/files/{name}" data-core-metadata="true">{name}</a>\n' for name in names).encode()
                    kind = "text/html"
                elif path.is_file():
                    data, kind = path.read_bytes(), "application/octet-stream"
                    if body and path.suffix == ".whl":
                        index.fetched.append(path.name)
                else:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if body:
                    self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/simple"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
