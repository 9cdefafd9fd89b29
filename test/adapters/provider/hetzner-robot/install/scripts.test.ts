import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  shellWord,
  ALREADY_BEGUN,
  logScript,
  lookScript,
  NO_IMAGE,
  NO_INSTALLER,
  readLook,
  rebootScript,
  startScript,
  whole,
  wipeScript,
  type Installation,
} from '../../../../../src/adapters/provider/hetzner-robot/scripts.ts';
import { testRows } from '../../../../support/rows.ts';
import {
  emulatedStand,
  GUARD,
  HOSTNAME,
  IMAGE,
  INSTALLATION,
  NASTY,
  realStand,
  type Rescue,
  SECRET,
  type Stand,
} from './stands.ts';

const start = (change: Partial<Installation> = {}) =>
  whole(startScript({ ...INSTALLATION, ...change }));
const STARTED = { status: 0, stdout: 'started\n', stderr: '' };
const look = async ({ run }: Stand, witness = 'bnxaaaas') =>
  readLook((await run(whole(lookScript(witness)))).stdout);
/** How an installation ended, and what it left. */
const outcome = async ({ read, hasRebooted }: Stand) => ({
  ended: await read(`${GUARD}/ended`),
  reboots: hasRebooted(),
});
const FINISHED = { ended: 'finished\n', reboots: true };
const FAILED = { ended: 'failed\n', reboots: false };

interface Row {
  readonly rescue?: Partial<Rescue>;
  check(stand: Stand): Promise<void>;
}

/** What scripts do in a rescue system, whichever shell runs them. */
const ROWS: Readonly<Record<string, Row>> = {
  'an installation: drives, configuration, image, last script, marker, then the reboot': {
    async check(stand) {
      const initCommand = `${INSTALLATION.initCommand}\n${NASTY}`;
      expect(await stand.run(start({ initCommand }))).toEqual(STARTED);
      expect(await outcome(stand)).toEqual(FINISHED);
      expect(await stand.read('/autosetup')).toBe(
        [
          'DRIVE1 /dev/nvme0n1',
          'DRIVE2 /dev/nvme1n1',
          'SWRAID 1',
          'SWRAIDLEVEL 1',
          `HOSTNAME ${HOSTNAME}`,
          'PART /boot ext4 1G',
          'PART / ext4 all',
          `IMAGE /root/.oldroot/nfs/images/${IMAGE}`,
          '',
        ].join('\n'),
      );
      expect(await stand.read('/root/.ssh/authorized_keys')).toBe(`${INSTALLATION.publicKey}\n`);
      expect(await stand.read('/var/lib/shepherd/first-boot.sh')).toBe(`${initCommand}\n`);
      const unit = await stand.read('/etc/systemd/system/shepherd-first-boot.service');
      expect(unit).toContain('Type=oneshot');
    },
  },
  'drives are found by WWN, whatever they are called today': {
    async check(stand) {
      await stand.run(start({ drives: ['eui.0025385b01'] }));
      expect(await stand.read('/autosetup')).toMatch(/^DRIVE1 \/dev\/nvme1n1\nSWRAID 0\nHOSTNAME/);
      expect(await outcome(stand)).toEqual(FINISHED);
    },
  },
  'a drive that is missing ends it': {
    async check(stand) {
      await stand.run(start({ drives: ['eui.0025385b01', '0xdead'] }));
      expect(await outcome(stand)).toEqual(FAILED);
      expect(await stand.read(`${GUARD}/log`)).toBe('there is no drive 0xdead\n');
    },
  },
  'vector 23: without the marker nothing reboots': {
    rescue: { installer: 'fails' },
    async check(stand) {
      await stand.run(start());
      expect(await outcome(stand)).toEqual(FAILED);
      const { stdout } = await stand.run(whole(logScript('bnxaaaas')));
      expect(stdout).toMatch(
        /An error occurred.*\nthe last script of the new system did not end\n$/,
      );
    },
  },
  'an installer that prints the marker and fails reboots nothing': {
    rescue: { installer: 'marksAndFails' },
    async check(stand) {
      await stand.run(start());
      expect(await outcome(stand)).toEqual(FAILED);
      expect(await stand.read(`${GUARD}/log`)).toContain('installimage ended with 1');
    },
  },
  'vector 23: the log that is told hides the first boot': {
    async check(stand) {
      await stand.run(start());
      stand.write(`${GUARD}/log`, `writing ${SECRET}\nall went wrong\n`);
      const { stdout } = await stand.run(whole(logScript('bnxaaaas')));
      expect(stdout).toBe('all went wrong\n');
    },
  },
  'whoever starts second is told so, and changes nothing': {
    async check(stand) {
      await stand.run(start());
      const before = await stand.read(`${GUARD}/post-install.sh`);
      const again = await stand.run(start({ initCommand: 'other', tags: {} }));
      expect(again).toEqual({ status: ALREADY_BEGUN, stdout: '', stderr: '' });
      expect(await stand.read(`${GUARD}/post-install.sh`)).toBe(before);
    },
  },
  'without an installer nothing is begun, and what is there is listed': {
    rescue: { hasInstaller: false },
    async check(stand) {
      const { status, stderr } = await stand.run(start());
      expect(status).toBe(NO_INSTALLER);
      expect(stderr).toMatch(/^there is no .*\/installimage; there are:\n[^]*images/);
      expect(await stand.read(`${GUARD}/tags`)).toBeNull();
    },
  },
  'without the image nothing is begun, and what is there is listed': {
    rescue: { images: ['Ubuntu-2604.tar.gz'] },
    async check(stand) {
      const { status, stderr } = await stand.run(start());
      expect(status).toBe(NO_IMAGE);
      expect(stderr).toMatch(/^there is no image [^]*\nUbuntu-2604\.tar\.gz\n$/);
      expect(await stand.read(`${GUARD}/tags`)).toBeNull();
    },
  },
  'a look tells who answers, and the tags of what was begun or installed': {
    async check(stand) {
      expect(await look(stand)).toEqual({
        ...{ hostname: 'rescue', bootId: 'boot-1', guard: null, isOthers: false },
        ...{ installed: null, secretHash: null },
      });
      await stand.run(start());
      const { tags, witness } = INSTALLATION;
      expect(await look(stand)).toMatchObject({ guard: { tags, ended: 'finished' } });
      expect(await look(stand, 'othersss')).toMatchObject({ guard: null, isOthers: true });
      stand.boot();
      await stand.run('sh /var/lib/shepherd/first-boot.sh');
      expect(await look(stand)).toEqual({
        ...{ hostname: HOSTNAME, bootId: 'boot-1', guard: null, isOthers: false },
        installed: { witness, tags },
        secretHash: createHash('sha256').update(SECRET).digest('hex'),
      });
    },
  },
  'a wipe takes every drive, and refuses beside an installation': {
    async check(stand) {
      const wiped = await stand.run(whole(wipeScript()));
      expect(wiped).toEqual({ status: 0, stdout: 'wiped 2\n', stderr: '' });
      expect(stand.wiped()).toEqual(['nvme0n1', 'nvme1n1']);
      await stand.run(start());
      const { status, stderr } = await stand.run(whole(wipeScript()));
      expect([status, stderr]).toEqual([1, 'an installation was begun in this rescue system\n']);
    },
  },
  'a wipe without drives fails': {
    rescue: { hasDrives: false },
    async check({ run }) {
      expect(await run(whole(wipeScript()))).toMatchObject({
        ...{ status: 1, stdout: '', stderr: 'there is no drive\n' },
      });
    },
  },
  'a reboot comes after the answer': {
    async check({ run, hasRebooted }) {
      expect(await run(whole(rebootScript()))).toEqual({ status: 0, stdout: '', stderr: '' });
      expect(hasRebooted()).toBe(true);
    },
  },
  'a script that is cut wherever it may be runs not at all': {
    async check({ run, read }) {
      const script = start();
      for (let part = 1; part < 8; part++) {
        const { stdout } = await run(script.slice(0, Math.floor((script.length * part) / 8)));
        expect([stdout, await read(`${GUARD}/tags`)]).toEqual(['', null]);
      }
    },
  },
};

const SHELLS: Readonly<Record<string, (rescue?: Partial<Rescue>) => Stand>> = {
  dash: (rescue) => realStand('dash', rescue),
  bash: (rescue) => realStand('bash', rescue),
  'the shell of the emulator': emulatedStand,
};

testRows(
  Object.entries(ROWS).flatMap(([name, row]) =>
    Object.entries(SHELLS).map(([shell, stand]) => [name, shell, row, stand] as const),
  ),
)('%s: in %s', async (_name, _shell, { rescue, check }, stand) => {
  await check(stand(rescue));
});

test('a wipe fails where anything is left', async () => {
  const stand = realStand('dash');
  await stand.run(`printf '#!/bin/sh\\nexit 1\\n' > "$(command -v wipefs)"`);
  expect((await stand.run(whole(wipeScript()))).status).toBe(1);
});

test('whatever a text holds, it is one word of the shell', () => {
  const texts = [
    ...['', ' ', "'", "''", `a'b"c`, '$(id)', '`id`', '\\', '\n', '-n', '%s', '!x', '*', '~'],
    ...['ü\u{1f600}', NASTY],
  ];
  const script = texts.map((text) => `printf '%s\\0' ${shellWord(text)}`).join('\n');
  for (const shell of ['dash', 'bash']) {
    const { stdout } = spawnSync(shell, ['-s'], { input: script, encoding: 'utf8' });
    expect(stdout.split('\0').slice(0, -1)).toEqual(texts);
  }
  expect(() => shellWord('a\0b')).toThrow(RangeError);
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
