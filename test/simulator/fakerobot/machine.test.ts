import { expect, test } from 'vitest';
import { newKey, SERVER, startRobot } from './harness.ts';

const SETUP = [
  'DRIVE1 /dev/nvme0n1',
  'DRIVE2 /dev/nvme1n1',
  'SWRAID 1',
  'SWRAIDLEVEL 1',
  'HOSTNAME shep-1',
  'PART /boot ext4 1G',
  'PART / ext4 all',
  'IMAGE /root/.oldroot/nfs/images/Debian-1210-bookworm-amd64-base.tar.gz',
].join('\n');

/** The script of a new system: our key alone, and a unit that runs once. */
const postInstall = (line: string) => `#!/bin/sh
set -e
umask 0077
mkdir -p /root/.ssh
printf '%s\\n' '${line}' > /root/.ssh/authorized_keys
mkdir -p /var/lib/once
cat > /var/lib/once/first.sh <<'END'
#!/bin/sh
umask 0077
printf %s secret > /var/lib/once/secret
echo run >> /var/lib/once/runs
END
cat > /etc/systemd/system/once.service <<'END'
[Unit]
ConditionPathExists=/var/lib/once/first.sh
Before=ssh.service
[Service]
Type=oneshot
ExecStart=/bin/sh /var/lib/once/first.sh
ExecStartPost=/bin/rm -f /var/lib/once/first.sh
END
mkdir -p /etc/systemd/system/multi-user.target.d
printf '[Unit]\\nWants=once.service\\n' > /etc/systemd/system/multi-user.target.d/once.conf
echo POST_INSTALL_SCRIPT_FINISHED
`;

test('a machine is installed through its rescue system, boots by itself, and is another one then', async () => {
  const robot = await startRobot();
  const before = robot.machine();
  expect(before).toMatchObject({ power: 'on', phase: 'disk', hostname: 'old-321' });
  const key = await robot.rescue();
  expect(robot.machine()).toMatchObject({ phase: 'rescue', hostname: 'rescue', armed: null });
  const named = await robot.shell(key, 'hostname');
  expect(named).toMatchObject({ stdout: 'rescue\n', code: 0 });
  const own = newKey();
  const begun = await robot.shell(
    key,
    'sh -s',
    `mkdir /root/guard || exit 3
cat > /autosetup <<'END'
${SETUP}
END
cat > /root/guard/post.sh <<'POST'
${postInstall(own.line)}POST
cat > /root/guard/run.sh <<'END'
/root/.oldroot/nfs/install/installimage -a -c /autosetup -x /root/guard/post.sh
grep -q '^POST_INSTALL_SCRIPT_FINISHED$' /root/guard/log && reboot
END
nohup sh /root/guard/run.sh > /root/guard/log 2>&1 < /dev/null &
echo started
`,
  );
  expect(begun).toMatchObject({ stdout: 'started\n', stderr: '', code: 0 });
  await robot.fake.advance(119_000);
  expect(robot.machine()).toMatchObject({ phase: 'rescue', installs: 0 });
  await robot.fake.advance(1_000);
  expect(robot.machine()).toMatchObject({ phase: 'ending', installs: 1 });
  await robot.fake.advance(20_000 + 90_000);
  expect(robot.machine()).toMatchObject({ phase: 'disk', hostname: 'shep-1', boots: 3 });
  const inside = 'hostname; cat /var/lib/once/secret /var/lib/once/runs; ls /var/lib/once';
  const seen = await robot.shell(own, inside);
  expect(seen.stdout).toBe('shep-1\nsecretrun\nruns\nsecret\n');
  expect(seen.hostKey).not.toBe(named.hostKey);
  await expect(robot.shell(key, 'true')).rejects.toThrow(/authentication/);
  const { bootId } = robot.machine();
  await robot.post(`/reset/${SERVER}`, { type: 'sw' });
  await robot.fake.advance(20_000 + 90_000);
  expect(robot.machine().bootId).not.toBe(bootId);
  const again = await robot.shell(own, 'cat /var/lib/once/runs /proc/sys/kernel/random/boot_id');
  expect(again.stdout).toBe(`run\n${robot.machine().bootId}\n`);
  expect(again.hostKey).toBe(seen.hostKey);
});
