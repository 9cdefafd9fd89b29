import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Installation } from '../../../../../src/adapters/provider/hetzner-robot/install/autosetup.ts';
import { shellWord } from '../../../../../src/adapters/provider/hetzner-robot/install/quote.ts';
import {
  ALREADY_BEGUN,
  logScript,
  lookScript,
  MARKER,
  NO_IMAGE,
  NO_INSTALLER,
  postInstallScript,
  readLook,
  rebootScript,
  startScript,
  whole,
  wipeScript,
} from '../../../../../src/adapters/provider/hetzner-robot/install/scripts.ts';

const SECRET = '5ec2e75ec2e75ec2e75ec2e75ec2e75ec2e75ec2';
const NASTY = `$(touch /tmp/pwned) \`id\` '; rm -rf / #" \\ %s %n !`;
const INSTALLATION: Installation = {
  witness: '0b6e0000-1234-4abc-8def-0123456789ab',
  shortWitness: 'bnxaaaas',
  hostname: 'shep-prod-321',
  image: { file: 'Debian-1300-trixie-amd64-base.tar.gz' },
  drives: 'all',
  layout: null,
  publicKey: 'ssh-ed25519 AAAAC3Nz shepherd',
  initCommand: ['#!/bin/sh', `printf %s ${SECRET} > /var/lib/shepherd/instance-secret`, NASTY].join(
    '\n',
  ),
  tags: { 'shepherd-op': '0b6e0000-1234-4abc-8def-0123456789ab', odd: NASTY },
};

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'robot-scripts-'));
  mkdirSync(join(root, 'bin'));
  mkdirSync(join(root, 'root/.oldroot/nfs/install'), { recursive: true });
  mkdirSync(join(root, 'root/.oldroot/nfs/images'), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const PATHS = /\/(root|autosetup|var\/lib\/shepherd|etc\/systemd)\b/g;
const inside = (script: string) => script.replace(PATHS, `${root}/$1`);
const tool = (path: string, body: string) => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), `#!/bin/sh\n${body}\n`);
  chmodSync(join(root, path), 0o755);
};
const image = () =>
  writeFileSync(join(root, 'root/.oldroot/nfs/images/Debian-1300-trixie-amd64-base.tar.gz'), '');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const guard = 'root/shepherd-bnxaaaas';

/** Runs a script as a rescue system would, with tools of our own before the real ones. */
function run(script: string) {
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-s'], {
    input: inside(script),
    encoding: 'utf8',
    env: { PATH: `${join(root, 'bin')}:${process.env['PATH']}` },
  });
  return { status, stdout, stderr };
}
/** Waits for what the start left running: the installation is played synchronously instead. */
const install = () => run('cd /root/shepherd-bnxaaaas; sh ./install.sh > ./log 2>&1');

const TWO_DRIVES = `case "$*" in
  '-dno NAME') printf 'sda\\nloop0\\nnvme0n1\\n' ;;
  '-dno WWN /dev/sda') printf '0x5000c500a\\n' ;;
  '-dno WWN /dev/nvme0n1') printf 'eui.0025385b01\\n' ;;
esac`;

function stand(installs = 'cp "$3" "$(dirname "$3")/seen"; sh "$5"') {
  tool('root/.oldroot/nfs/install/installimage', installs);
  tool('bin/lsblk', TWO_DRIVES);
  tool('bin/reboot', `: > ${root}/rebooted`);
  tool('bin/sync', ':');
  // What is started goes on by itself; here each test runs it when it wants to.
  tool('bin/nohup', ':');
  image();
}

test('every script is one that sh and dash can read', () => {
  const all = {
    look: lookScript('bnxaaaas'),
    reboot: rebootScript(),
    log: logScript('bnxaaaas'),
    wipe: wipeScript(),
    start: startScript(INSTALLATION),
    byUrl: startScript({ ...INSTALLATION, image: { url: 'https://images.example.net/a.tar.gz' } }),
    byWwn: startScript({ ...INSTALLATION, drives: ['eui.1', '0x2'] }),
    last: postInstallScript(INSTALLATION),
  };
  for (const [name, script] of Object.entries(all)) {
    for (const shell of ['sh', 'dash']) {
      const { status, stderr } = spawnSync(shell, ['-n', '-s'], {
        input: script,
        encoding: 'utf8',
      });
      expect({ name, shell, status, stderr }).toEqual({ name, shell, status: 0, stderr: '' });
    }
  }
});

test('a script that is cut wherever it may be runs not at all', () => {
  stand();
  const script = whole(startScript(INSTALLATION));
  for (let part = 1; part < 40; part++) {
    const { stdout } = run(script.slice(0, Math.floor((script.length * part) / 40)));
    expect([stdout, existsSync(join(root, guard))]).toEqual(['', false]);
  }
  expect(run(script)).toMatchObject({ status: 0, stdout: 'started\n' });
});

test('whatever a text holds, it is one word of the shell', () => {
  const texts = [
    '',
    ' ',
    "'",
    "''",
    `a'b"c`,
    '$(id)',
    '`id`',
    '\\',
    '\n',
    '-n',
    '%s',
    '!x',
    '*',
    '~',
    'ü\u{1f600}',
    NASTY,
  ];
  const script = texts.map((text) => `printf '%s\\0' ${shellWord(text)}`).join('\n');
  const { stdout } = spawnSync('/bin/sh', ['-s'], { input: script, encoding: 'utf8' });
  expect(stdout.split('\0').slice(0, -1)).toEqual(texts);
  expect(() => shellWord('a\0b')).toThrow(RangeError);
});

test('an installation: drives, configuration, image, last script, marker, then the reboot', () => {
  stand();
  expect(run(startScript(INSTALLATION))).toMatchObject({ status: 0, stdout: 'started\n' });
  install();
  expect(read('seen').replaceAll(root, '')).toBe(
    [
      'DRIVE1 /dev/sda',
      'DRIVE2 /dev/nvme0n1',
      'SWRAID 1',
      'SWRAIDLEVEL 1',
      'HOSTNAME shep-prod-321',
      'PART /boot ext4 1G',
      'PART / ext4 all',
      'IMAGE /root/.oldroot/nfs/images/Debian-1300-trixie-amd64-base.tar.gz',
      '',
    ].join('\n'),
  );
  expect(read(`${guard}/ended`)).toBe('finished\n');
  expect(existsSync(join(root, 'rebooted'))).toBe(true);
  expect(read('root/.ssh/authorized_keys')).toBe(`${INSTALLATION.publicKey}\n`);
  expect(read('var/lib/shepherd/first-boot.sh')).toBe(`${inside(INSTALLATION.initCommand)}\n`);
  expect(read('etc/systemd/system/shepherd-first-boot.service')).toContain('Type=oneshot');
});

test('drives are found by WWN, whatever they are called today; a missing one ends it', () => {
  stand();
  run(startScript({ ...INSTALLATION, drives: ['eui.0025385b01'] }));
  install();
  expect(read('seen')).toMatch(/^DRIVE1 \/dev\/nvme0n1\nSWRAID 0\nHOSTNAME/);
  rmSync(join(root, guard), { recursive: true });
  rmSync(join(root, 'rebooted'));
  run(startScript({ ...INSTALLATION, drives: ['eui.0025385b01', '0xdead'] }));
  install();
  expect(read(`${guard}/log`)).toContain('there is no drive 0xdead');
  expect([read(`${guard}/ended`), existsSync(join(root, 'rebooted'))]).toEqual(['failed\n', false]);
});

test('vector 23: without the marker nothing reboots, and the log hides the first boot', () => {
  stand(`printf 'writing %s\\nall went wrong\\n' ${SECRET}`);
  run(startScript(INSTALLATION));
  install();
  expect([read(`${guard}/ended`), existsSync(join(root, 'rebooted'))]).toEqual(['failed\n', false]);
  expect(read(`${guard}/log`)).toContain(SECRET);
  const { stdout } = run(logScript('bnxaaaas'));
  expect(stdout).not.toContain(SECRET);
  expect(stdout).toContain('all went wrong');
  expect(stdout).toContain('the last script of the new system did not end');
});

test('an installer that prints the marker and fails reboots nothing', () => {
  stand(`printf '${MARKER}\\n'; exit 3`);
  run(startScript(INSTALLATION));
  install();
  expect([read(`${guard}/ended`), existsSync(join(root, 'rebooted'))]).toEqual(['failed\n', false]);
  expect(read(`${guard}/log`)).toContain('installimage ended with 3');
});

test('whoever starts second is told so, and changes nothing', () => {
  stand();
  run(startScript(INSTALLATION));
  const before = read(`${guard}/post-install.sh`);
  const again = startScript({ ...INSTALLATION, initCommand: 'other', tags: {} });
  expect(run(again)).toMatchObject({ status: ALREADY_BEGUN, stdout: '' });
  expect(read(`${guard}/post-install.sh`)).toBe(before);
});

test('without installer or image nothing is begun, and what is there is listed', () => {
  expect(run(startScript(INSTALLATION))).toMatchObject({ status: NO_INSTALLER });
  stand();
  rmSync(join(root, 'root/.oldroot/nfs/images'), { recursive: true });
  mkdirSync(join(root, 'root/.oldroot/nfs/images'));
  writeFileSync(join(root, 'root/.oldroot/nfs/images/Ubuntu-2604.tar.gz'), '');
  const { status, stderr } = run(startScript(INSTALLATION));
  expect(status).toBe(NO_IMAGE);
  expect(stderr).toContain('Ubuntu-2604.tar.gz');
  expect(existsSync(join(root, guard))).toBe(false);
});

test('a look tells who answers, and the tags of what was begun or installed', () => {
  stand();
  tool('bin/hostname', 'echo rescue');
  expect(readLook(run(lookScript('bnxaaaas')).stdout)).toMatchObject({
    hostname: 'rescue',
    guard: null,
    isOthers: false,
    installed: null,
    secretHash: null,
  });
  run(startScript(INSTALLATION));
  expect(readLook(run(lookScript('bnxaaaas')).stdout)).toMatchObject({
    guard: { tags: INSTALLATION.tags, ended: null },
  });
  install();
  const seen = readLook(run(lookScript('othersss')).stdout);
  expect(seen).toMatchObject({ guard: null, isOthers: true });
  expect(seen.installed).toEqual({ witness: INSTALLATION.witness, tags: INSTALLATION.tags });
});

test('a wipe takes every drive, refuses beside an installation, and fails where anything is left', () => {
  stand();
  tool('bin/wipefs', `printf '%s\\n' "$*" >> ${root}/wiped`);
  expect(run(wipeScript())).toMatchObject({ status: 0, stdout: 'wiped 2\n' });
  expect(read('wiped')).toBe('-a -f /dev/sda\n-a -f /dev/nvme0n1\n');
  tool('bin/wipefs', 'exit 1');
  expect(run(wipeScript()).status).toBe(1);
  tool('bin/lsblk', ':');
  expect(run(wipeScript())).toMatchObject({ status: 1, stderr: 'there is no drive\n' });
  mkdirSync(join(root, guard));
  expect(run(wipeScript()).stderr).toContain('an installation was begun');
});

test('what a stranger prints is no look', () => {
  for (const text of ['', '\n\n', ' x', 'hostname', 'guard \nguard x', '\0']) {
    expect(typeof readLook(text).hostname).toBe('string');
  }
  expect(readLook('hostname rescue\nguard !!!\ninstalled e30=')).toMatchObject({
    hostname: 'rescue',
    guard: { tags: null },
    installed: null,
  });
});
