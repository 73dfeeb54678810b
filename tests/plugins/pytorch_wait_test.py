#!/usr/bin/python3 -B
"""Tests how workers of the plugin pytorch wait for their master: the plugin's script runs in the shells and with the
programs that an image may have."""

import harness
import manifests
import pods

# The programs in an image's PATH, by name, with the programs of this machine that stand for them.
NC = {"sh": "dash", "date": "date", "sleep": "sleep", "nc": "nc"}
BASH = {"sh": "dash", "date": "date", "sleep": "sleep", "timeout": "timeout", "bash": "bash"}
# Debian's busybox, whose nc has no -z.
BUSYBOX = {name: "busybox" for name in ("sh", "date", "sleep", "timeout", "nc", "true")}
LISTEN = """
import os, socket
server = socket.create_server(("", int(os.environ["MASTER_PORT"])))
while True:
    server.accept()[0].close()
"""


class PytorchWait(harness.TestCase):
    def render(self, workers, seconds):
        plugins = {"pytorch": ["--wait-master-enabled", f"--wait-master-timeout={seconds}"]}
        return manifests.render("torch", plugins, [manifests.task("master", 1), manifests.task("worker", workers)])

    def wait_in(self, pod, image):
        """Starts the rendered container with only these programs in its PATH."""
        links = " && ".join(f"ln -s $(command -v {program}) /image/{name}" for name, program in image.items())
        pod.run("sh", "-c", f"mkdir /image && {links}")
        return pod.start("wait-for-master", "initContainers", {"PATH": "/image"})

    def waits(self, image):
        for program in image.values():
            self.need(program)
        with pods.Job(self.render(1, 60)) as job:
            waiting = self.wait_in(job.pods["torch-worker-0"], image)
            pods.wait_until("it waits", lambda: "waiting for torch-master-0.torch:23456" in waiting.text(), 20, waiting)
            master = job.pods["torch-master-0"]
            listening = master.spawn(["/usr/bin/python3", "-c", LISTEN])
            master.wait_for_port(23456, 20, listening)
            self.assertIn("torch-master-0.torch:23456 listens", waiting.finish(20))

    def test_by_nc_until_the_master_listens(self):
        self.waits(NC)

    def test_by_bash_until_the_master_listens(self):
        self.waits(BASH)

    def test_in_busybox_until_the_master_listens(self):
        self.waits(BUSYBOX)

    def test_gives_up_after_its_time(self):
        for program in (*NC.values(), *BASH.values()):
            self.need(program)
        with pods.Job(self.render(4, 1)) as job:
            workers = [job.pods[f"torch-worker-{i}"] for i in range(4)]
            # The master refuses the first two workers. The packets of the others go to an address that no card has.
            for worker in workers[2:]:
                worker.run("ip", "neighbour", "add", job.pods["torch-master-0"].address, "lladdr", "02:00:00:00:00:01",
                           "dev", "eth0", "nud", "permanent")
            for waiting in [self.wait_in(worker, image) for worker, image in zip(workers, (NC, BASH, NC, BASH))]:
                self.assertEqual(waiting.wait(20), 1, waiting.text())
                self.assertRegex(waiting.text(), r"torch-master-0\.torch:23456 does not listen after \d+ s\n$")


if __name__ == "__main__":
    harness.main()
