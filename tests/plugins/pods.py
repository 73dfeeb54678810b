"""Runs the pods of a rendered job as processes of this machine (README.md explains how)."""

import base64
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

# The domain of the namespace in which manifests.py makes its jobs.
DOMAIN = "default.svc.cluster.local"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Makes the pod's root: the machine's files under a layer of the pod's own. Folders in which a machine keeps its own
# state are empty in the pod.
_ROOT = """
set -eu
root=/mnt/root
mount -t tmpfs -o mode=755 pod /mnt
mkdir /mnt/upper /mnt/work $root
mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work pod $root
mount --rbind /dev $root/dev
mount --rbind /sys $root/sys
mount -t proc proc $root/proc
for folder in home root run; do mount -t tmpfs -o mode=755 pod $root/$folder; done
for folder in tmp dev/shm; do mount -t tmpfs -o mode=1777 pod $root/$folder; done
"""
_ENTER = """
cd $root
mkdir -p mnt
pivot_root . mnt
umount -l /mnt
ip link set lo up
"""
UNSHARE = ["unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
BRIDGE = "basalt0"
GATEWAY = "10.77.0.1"
# Tries everything that a pod needs of the machine.
PROBE = f"{_ROOT}{_ENTER}ip link add {BRIDGE} type bridge && ip link add probe0 type veth peer name probe1"


def _command(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=30)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)[:200]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def prepare():
    """Makes the pods' shared parts in this program's own namespaces: a folder for files, and the bridge."""
    _command("mount", "-t", "tmpfs", "basalt", "/run")
    tempfile.tempdir = "/run"
    _command("ip", "link", "set", "lo", "up")
    _command("ip", "link", "add", BRIDGE, "type", "bridge")
    _command("ip", "address", "add", f"{GATEWAY}/16", "dev", BRIDGE)
    _command("ip", "link", "set", BRIDGE, "up")


def wait_until(what, condition, seconds, *processes):
    """Waits for the condition. Fails after so many seconds, or as soon as one of the processes has ended."""
    deadline = time.monotonic() + seconds
    while not condition():
        for process in processes:
            if process.code() is not None:
                raise AssertionError(f"{process.name} ended with {process.code()} before {what}:\n{process.text()}")
        if time.monotonic() > deadline:
            raise AssertionError(f"after {seconds} s still not: {what}")
        time.sleep(0.02)


def expand(text, env):
    """Replaces $(NAME) and $$ as the kubelet does in commands and variables."""

    def replace(match):
        if match[0] == "$$":
            return "$"
        return env.get(match[0][2:-1], match[0])

    return re.sub(r"\$(\$|\([^)]*\))", replace, text)


def _selects(service, pod):
    meta, spec = service["metadata"], service["spec"]
    labels = pod["metadata"].get("labels", {})
    return meta["namespace"] == pod["metadata"]["namespace"] and spec.get("selector") and all(
        labels.get(key) == value for key, value in spec["selector"].items())


class Process:
    """A process in a pod. Its output goes to a file."""

    def __init__(self, name, popen, log):
        self.name, self._popen, self._log = name, popen, log

    def code(self):
        return self._popen.poll()

    def text(self):
        return self._log.read_text(errors="replace")

    def wait(self, seconds):
        """Waits for the process and returns its exit code."""
        try:
            return self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} still runs after {seconds} s:\n{self.text()}") from None

    def finish(self, seconds):
        """Waits for the process, which must end with 0, and returns its output."""
        code = self.wait(seconds)
        if code != 0:
            raise AssertionError(f"{self.name} ended with {code}:\n{self.text()}")
        return self.text()


class Pod:
    """One rendered pod: namespaces of its own, in which its containers' commands run when a test starts them."""

    _count = 0

    def __init__(self, job, rendered):
        # No number is used twice, since the kernel takes some time to remove a pod's devices.
        Pod._count += 1
        self._link = f"pod{Pod._count}"
        self.address = f"10.77.1.{Pod._count}"
        self._job, self._rendered = job, rendered
        self.name = rendered["metadata"]["name"]
        self._spec = rendered["spec"]
        self.hostname = self._spec.get("hostname") or self.name
        self.subdomain = self._spec.get("subdomain", "")
        self._folder = job.folder / self.name
        self._folder.mkdir()
        self._processes = []
        self._holder = None

    # Contents of the rendered objects.

    def containers(self, kind="containers"):
        return {container["name"]: container for container in self._spec.get(kind, [])}

    def ports(self):
        """Returns the ports that the pod's containers expose, by name."""
        return {port["name"]: port["containerPort"]
                for container in self._spec["containers"] for port in container.get("ports", [])}

    def env(self, container=None):
        """Returns the variables of that container, or of the first one. The later of two with one name counts."""
        container = container or self._spec["containers"][0]
        values = {}
        for variable in container.get("env", []):
            source = variable.get("valueFrom", {})
            if "configMapKeyRef" in source:
                reference = source["configMapKeyRef"]
                value = self._job.object("ConfigMap", reference["name"])["data"][reference["key"]]
            elif source:
                raise AssertionError(f"{self.name}: variable {variable['name']} comes from {source}")
            else:
                value = expand(variable.get("value", ""), values)
            values[variable["name"]] = value
        return values

    def _lay_volume(self, volume):
        """Lays out a volume as the kubelet does: files in a folder behind a link, and links to the folder's entries."""
        if "configMap" in volume:
            source = volume["configMap"]
            data = {key: value.encode() for key, value in self._job.object("ConfigMap", source["name"])["data"].items()}
        elif "secret" in volume:
            source = volume["secret"]
            secret = self._job.object("Secret", source["secretName"])
            data = {key: base64.b64decode(value, validate=True) for key, value in secret["data"].items()}
        else:
            raise AssertionError(f"{self.name}: volume {volume}")
        root = self._folder / "volumes" / volume["name"]
        payload = root / "..payload"
        payload.mkdir(parents=True)
        items = source.get("items") or [{"key": key, "path": key} for key in data]
        for item in items:
            file = payload / item["path"]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data[item["key"]])
            file.chmod(item.get("mode", source.get("defaultMode", 0o644)))
        (root / "..data").symlink_to("..payload")
        for top in {pathlib.PurePath(item["path"]).parts[0] for item in items}:
            (root / top).symlink_to(f"..data/{top}")
        root.chmod(0o777)
        return root

    # Making the pod.

    def _hosts(self):
        """Returns /etc/hosts as the kubelet writes it, followed by the names that the DNS has for the namespace."""
        own = f"{self.hostname}.{self.subdomain}.{DOMAIN} " if self.subdomain else ""
        return f"127.0.0.1 localhost\n{self.address} {own}{self.hostname}\n{self._job.dns()}"

    def _files(self):
        users = {**self._users(), "sshd": 100, "nobody": 65534}
        passwd = "".join(f"{name}:x:{uid}:{uid}::{self.home(name)}:/bin/sh\n" for name, uid in users.items())
        return {
            "/etc/hosts": self._hosts(),
            "/etc/hostname": f"{self.hostname}\n",
            "/etc/resolv.conf": f"search {DOMAIN} svc.cluster.local cluster.local\noptions ndots:5 timeout:1\n",
            "/etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n",
            "/etc/passwd": passwd,
            "/etc/group": "".join(f"{name}:x:{uid}:\n" for name, uid in users.items()),
            "/etc/shadow": "".join(f"{name}:*:1::::::\n" for name in users),
            **self._job.files,
        }

    @staticmethod
    def home(user):
        return "/root" if user == "root" else f"/home/{user}"

    @property
    def user(self):
        """Returns the name of the user as which the containers run."""
        uid = self._spec.get("securityContext", {}).get("runAsUser", 0)
        return next(name for name, number in self._users().items() if number == uid)

    def _users(self):
        return {"root": 0, **self._job.users}

    def _mounts(self):
        volumes = {volume["name"]: volume for volume in self._spec.get("volumes", [])}
        laid = {}
        # Each pod of a test has one container.
        (main,) = self._spec["containers"]
        for mount in main.get("volumeMounts", []):
            name = mount["name"]
            if name not in laid:
                laid[name] = self._lay_volume(volumes[name])
            yield (laid[name] / mount.get("subPath", "")).resolve(strict=True), mount["mountPath"]
        for shared in self._job.shares:
            yield shared, shared

    def open(self):
        """Makes the pod's namespaces and files."""
        script = [_ROOT]
        for user, uid in self._job.users.items():
            script.append(f"mkdir $root{self.home(user)} && chown {uid}:{uid} $root{self.home(user)}")
        for path, text in self._files().items():
            file = self._folder / "files" / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            script.append(f"mkdir -p $root{os.path.dirname(path)} && rm -f $root{path} && cp '{file}' $root{path}")
        for source, target in self._mounts():
            script.append(f"mkdir -p $root'{target}' && mount --bind '{source}' $root'{target}'")
            script.append(f"mount -o remount,bind,ro $root'{target}'")
        script.append(_ENTER)
        script.append(f"echo {self.hostname} >/proc/sys/kernel/hostname")
        script.append(f"ip address add {self.address}/16 dev eth0")
        script.append(f"ip link set eth0 up && ip route add default via {GATEWAY}")
        self._holder = subprocess.Popen(UNSHARE + ["sh", "-c", "echo; exec sleep infinity"], stdout=subprocess.PIPE)
        if not self._holder.stdout.readline():
            raise AssertionError(f"{self.name}: unshare ended with {self._holder.wait()}")
        _command("ip", "link", "add", self._link, "type", "veth",
                 "peer", "name", "eth0", "netns", str(self._holder.pid))
        _command("ip", "link", "set", self._link, "master", BRIDGE, "up")
        _command(*self._nsenter(), "sh", "-c", "\n".join(script))

    def close(self):
        """Ends everything that runs in the pod."""
        if self._holder is None:
            return
        # The first process of the namespace ends with its parent, and all others end with the first.
        self._holder.kill()
        self._holder.wait()
        self._holder.stdout.close()
        for process in self._processes:
            process.wait(20)

    def _nsenter(self, uid=0):
        kinds = {"net": "net", "mount": "mnt", "uts": "uts", "ipc": "ipc", "pid": "pid_for_children"}
        namespaces = [f"--{kind}=/proc/{self._holder.pid}/ns/{file}" for kind, file in kinds.items()]
        return [shutil.which("nsenter"), *namespaces, f"--setuid={uid}", f"--setgid={uid}"]

    # Running commands in the pod.

    def spawn(self, command, container=None, env=None):
        """Starts a command with the container's variables and as its user."""
        own = {"PATH": PATH, "HOSTNAME": self.hostname, "HOME": self.home(self.user)}
        log = self._folder / f"output-{len(self._processes)}"
        with log.open("wb") as output:
            popen = subprocess.Popen(self._nsenter(self._users()[self.user]) + list(command),
                                     env={**own, **self.env(container), **(env or {})},
                                     stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        process = Process(f"{self.name}: {' '.join(command)[:80]!r}", popen, log)
        self._processes.append(process)
        return process

    def start(self, name=None, kind="containers", env=None):
        """Starts the rendered command of that container, or of the first one if no name is given."""
        containers = self.containers(kind)
        container = containers[name] if name else next(iter(containers.values()))
        values = self.env(container)
        words = container["command"] + container.get("args", [])
        return self.spawn([expand(word, values) for word in words], container, env)

    def run(self, *command, seconds=30, env=None):
        """Runs a command, which must end with 0, and returns its output."""
        return self.spawn(command, env=env).finish(seconds)

    def listens(self, port):
        for table in ("tcp", "tcp6"):
            for line in pathlib.Path(f"/proc/{self._holder.pid}/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rsplit(":", 1)[1], 16) == port:
                    return True
        return False

    def wait_for_port(self, port, seconds, *processes):
        wait_until(f"{self.name} listens on {port}", lambda: self.listens(port), seconds, *processes)

    def show(self):
        for process in self._processes:
            print(f"--- {process.name}: {'runs' if process.code() is None else process.code()}\n{process.text()}")


class Job:
    """The pods of a rendered job, side by side on one bridge. They end with the `with` statement."""

    def __init__(self, objects, files=None, users=None, shares=()):
        """The pods' image has `files`, `users` (name to number) and `shares`, which are folders of the machine."""
        self.files, self.users, self.shares = files or {}, users or {}, list(shares)
        self._objects = objects
        self._temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._temporary.name)
        rendered = [item for item in objects if item["kind"] == "Pod"]
        self.pods = {pod["metadata"]["name"]: Pod(self, pod) for pod in rendered}

    def object(self, kind, name):
        for item in self._objects:
            if item["kind"] == kind and item["metadata"]["name"] == name:
                return item
        raise AssertionError(f"no {kind} {name} is rendered")

    def dns(self):
        """Returns the names that the rendered Services give: those of the pods for a headless Service, else its own."""
        lines = []
        for service in (item for item in self._objects if item["kind"] == "Service"):
            name = service["metadata"]["name"]
            for pod in self.pods.values():
                if not _selects(service, pod._rendered):
                    continue
                if service["spec"].get("clusterIP") != "None":
                    self._check_ports(service, pod)
                    lines.append(f"{pod.address} {name} {name}.{DOMAIN}\n")
                elif pod.subdomain == name:
                    host = f"{pod.hostname}.{name}"
                    lines.append(f"{pod.address} {host} {host}.{DOMAIN}\n")
        return "".join(lines)

    @staticmethod
    def _check_ports(service, pod):
        """Checks that each port of the Service is a port of the pod, since the Service has the pod's address here."""
        ports = pod.ports()
        for port in service["spec"]["ports"]:
            target = port.get("targetPort", port["port"])
            if ports.get(target, target) != port["port"]:
                raise AssertionError(f"{service['metadata']['name']}: port {port} leads to {ports}")

    def __enter__(self):
        try:
            for pod in self.pods.values():
                pod.open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            for pod in self.pods.values():
                pod.show()
        self.close()

    def close(self):
        for pod in self.pods.values():
            pod.close()
        self._temporary.cleanup()
