#!/usr/bin/python3 -B
"""Tests OpenSSH with the keys, the configuration and the host names that the plugins ssh and svc give to pods."""

import pathlib
import subprocess
import tempfile

import harness
import manifests
import pods

USER = 1000
# Servers as people start them in a container. Their host keys are part of an image, and they ignore the machine's settings.
ROOT_SERVER = ["sh", "-c", "mkdir -p /run/sshd && ssh-keygen -q -t ed25519 -N '' -f /etc/host_key && "
               "exec /usr/sbin/sshd -D -e -f /dev/null -h /etc/host_key"]
USER_SERVER = ["sh", "-c", "ssh-keygen -q -t ed25519 -N '' -f /tmp/host_key && "
               "exec /usr/sbin/sshd -D -e -f /dev/null -h /tmp/host_key -p 2222 -o PidFile=none"]


class Ssh(harness.TestCase):
    programs = ("sshd", "ssh", "ssh-keygen")

    def serve(self, job, port):
        for pod, process in [(pod, pod.start()) for pod in job.pods.values()]:
            pod.wait_for_port(port, 20, process)

    def reach_each_other(self, job):
        """Opens sessions from the first pod to all pods, itself included, and from all others to the first."""
        first, *others = job.pods.values()
        ways = [(first, other) for other in job.pods.values()] + [(other, first) for other in others]
        sessions = [pod.spawn(["ssh", other.hostname, "hostname; id -un"]) for pod, other in ways]
        for (pod, other), session in zip(ways, sessions):
            self.assertEqual(session.finish(30).splitlines()[-2:], [other.hostname, other.user], pod.name)

    def test_root_reaches_every_pod_by_its_short_name(self):
        objects = manifests.render("shell", {"ssh": [], "svc": []}, [
            manifests.task("master", 1, ROOT_SERVER),
            manifests.task("worker", 2, ROOT_SERVER),
            manifests.task("named", 1, ROOT_SERVER, hostname="login")])
        with pods.Job(objects) as job:
            self.serve(job, 22)
            self.reach_each_other(job)
            # The session needed the Secret's configuration: without it neither the name nor the key is known.
            master = job.pods["shell-master-0"]
            for options, words in ((["-F", "none"], "resolve hostname"),
                                   (["-o", "IdentityFile=/dev/null", "-o", "IdentitiesOnly=yes"], "Permission denied")):
                process = master.spawn(["ssh", *options, "shell-worker-0", "true"])
                self.assertEqual(process.wait(30), 255)
                self.assertIn(words, process.text())

    def test_a_user_reaches_every_pod_on_another_port(self):
        plugins = {"ssh": ["--ssh-key-file-path=/home/x/.ssh", "--ssh-port=2222"], "svc": []}
        worker = manifests.task("worker", 2, USER_SERVER, securityContext={"runAsUser": USER})
        objects = manifests.render("user", plugins, [worker])
        with pods.Job(objects, users={"x": USER}) as job:
            self.serve(job, 2222)
            self.reach_each_other(job)

    def test_keys_of_the_users_own_are_used(self):
        with tempfile.TemporaryDirectory() as folder:
            key = pathlib.Path(folder) / "key"
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True, timeout=20)
            arguments = [f"--ssh-private-key={key.read_text()}",
                         f"--ssh-public-key={key.with_suffix('.pub').read_text()}"]
        objects = manifests.render("own", {"ssh": arguments, "svc": []}, [manifests.task("worker", 2, ROOT_SERVER)])
        with pods.Job(objects) as job:
            self.serve(job, 22)
            self.reach_each_other(job)


if __name__ == "__main__":
    harness.main()
