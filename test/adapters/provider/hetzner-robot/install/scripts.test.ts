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
  GUARD,
  HOSTNAME,
  IMAGE,
  INSTALLATION,
  NASTY,
  type Rescue,
  SECRET,
  type RescueStand,
  startRescue,
} from './stands.ts';

const start = (change: Partial<Installation> = {}) =>
  whole(startScript({ ...INSTALLATION, ...change }));
const STARTED = { status: 0, stdout: 'started\n', stderr: '' };
const look = ({ run }: RescueStand, witness = 'bnxaaaas') =>
  readLook(run(whole(lookScript(witness))).stdout);
/** The result of an installation, and its remains. */
const outcome = ({ read, hasRebooted }: RescueStand) => ({
  ended: read(`${GUARD}/ended`),
  reboots: hasRebooted(),
});
const FINISHED = { ended: 'finished\n', reboots: true };
const FAILED = { ended: 'failed\n', reboots: false };

interface RescueRow {
  readonly rescue?: Partial<Rescue>;
  check(stand: RescueStand): void;
}

/**
 * The effects of scripts in a rescue system, in either shell. The driver's tests run the
 * emulator's.
 */
const ROWS: Readonly<Record<string, RescueRow>> = {
  'an installation: drives, configuration, image, last script, marker, then the reboot': {
    check(stand) {
      const initCommand = `${INSTALLATION.initCommand}\n${NASTY}`;
      expect(stand.run(start({ initCommand }))).toEqual(STARTED);
      expect(outcome(stand)).toEqual(FINISHED);
      expect(stand.read('/autosetup')).toBe(
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
      expect(stand.read('/root/.ssh/authorized_keys')).toBe(`${INSTALLATION.publicKey}\n`);
      expect(stand.read('/var/lib/shepherd/first-boot.sh')).toBe(`${initCommand}\n`);
      const unit = stand.read('/etc/systemd/system/shepherd-first-boot.service');
      expect(unit).toContain('Type=oneshot');
    },
  },
  'drives are found by WWN, whatever they are called today': {
    check(stand) {
      stand.run(start({ drives: ['eui.0025385b01'] }));
      expect(stand.read('/autosetup')).toMatch(/^DRIVE1 \/dev\/nvme1n1\nSWRAID 0\nHOSTNAME/);
      expect(outcome(stand)).toEqual(FINISHED);
    },
  },
  'a drive that is missing ends it': {
    check(stand) {
      stand.run(start({ drives: ['eui.0025385b01', '0xdead'] }));
      expect(outcome(stand)).toEqual(FAILED);
      expect(stand.read(`${GUARD}/log`)).toBe('there is no drive 0xdead\n');
    },
  },
  'vector 23: without the marker nothing reboots': {
    rescue: { installer: 'fails' },
    check(stand) {
      stand.run(start());
      expect(outcome(stand)).toEqual(FAILED);
      const { stdout } = stand.run(whole(logScript('bnxaaaas')));
      expect(stdout).toMatch(
        /An error occurred.*\nthe last script of the new system did not end\n$/,
      );
    },
  },
  'an installer that prints the marker and fails reboots nothing': {
    rescue: { installer: 'marksAndFails' },
    check(stand) {
      stand.run(start());
      expect(outcome(stand)).toEqual(FAILED);
      expect(stand.read(`${GUARD}/log`)).toContain('installimage ended with 1');
    },
  },
  'vector 23: the log that is told hides the first boot': {
    check(stand) {
      stand.run(start());
      stand.write(`${GUARD}/log`, `writing ${SECRET}\nall went wrong\n`);
      const { stdout } = stand.run(whole(logScript('bnxaaaas')));
      expect(stdout).toBe('all went wrong\n');
    },
  },
  'whoever starts second is told so, and changes nothing': {
    check(stand) {
      stand.run(start());
      const before = stand.read(`${GUARD}/post-install.sh`);
      const again = stand.run(start({ initCommand: 'other', tags: {} }));
      expect(again).toEqual({ status: ALREADY_BEGUN, stdout: '', stderr: '' });
      expect(stand.read(`${GUARD}/post-install.sh`)).toBe(before);
    },
  },
  'without an installer nothing is begun, and what is there is listed': {
    rescue: { hasInstaller: false },
    check(stand) {
      const { status, stderr } = stand.run(start());
      expect(status).toBe(NO_INSTALLER);
      expect(stderr).toMatch(/^there is no .*\/installimage; there are:\n[^]*images/);
      expect(stand.read(`${GUARD}/tags`)).toBeNull();
    },
  },
  'without the image nothing is begun, and what is there is listed': {
    rescue: { images: ['Ubuntu-2604.tar.gz'] },
    check(stand) {
      const { status, stderr } = stand.run(start());
      expect(status).toBe(NO_IMAGE);
      expect(stderr).toMatch(/^there is no image [^]*\nUbuntu-2604\.tar\.gz\n$/);
      expect(stand.read(`${GUARD}/tags`)).toBeNull();
    },
  },
  'a look tells who answers, and the tags of what was begun or installed': {
    check(stand) {
      expect(look(stand)).toEqual({
        ...{ hostname: 'rescue', bootId: 'boot-1', guard: null, isOthers: false },
        ...{ installed: null, secretHash: null },
      });
      stand.run(start());
      const { tags, witness } = INSTALLATION;
      expect(look(stand)).toMatchObject({ guard: { tags, ended: 'finished' } });
      expect(look(stand, 'othersss')).toMatchObject({ guard: null, isOthers: true });
      stand.boot();
      stand.run('sh /var/lib/shepherd/first-boot.sh');
      expect(look(stand)).toEqual({
        ...{ hostname: HOSTNAME, bootId: 'boot-1', guard: null, isOthers: false },
        installed: { witness, tags },
        secretHash: createHash('sha256').update(SECRET).digest('hex'),
      });
    },
  },
  'a wipe takes every drive, and refuses beside an installation': {
    check(stand) {
      const wiped = stand.run(whole(wipeScript()));
      expect(wiped).toEqual({ status: 0, stdout: 'wiped 2\n', stderr: '' });
      expect(stand.wiped()).toMatch(/^-a -f .*\/nvme0n1$[^]*^-a -f .*\/nvme1n1$/m);
      stand.run(start());
      const { status, stderr } = stand.run(whole(wipeScript()));
      expect([status, stderr]).toEqual([1, 'an installation was begun in this rescue system\n']);
    },
  },
  'a wipe without drives fails': {
    rescue: { hasDrives: false },
    check({ run }) {
      expect(run(whole(wipeScript()))).toMatchObject({
        ...{ status: 1, stdout: '', stderr: 'there is no drive\n' },
      });
    },
  },
  'a reboot comes after the answer': {
    check({ run, hasRebooted }) {
      expect(run(whole(rebootScript()))).toEqual({ status: 0, stdout: '', stderr: '' });
      expect(hasRebooted()).toBe(true);
    },
  },
  'a script that is cut wherever it may be runs not at all': {
    check({ run, read }) {
      const script = start();
      for (let part = 1; part < 8; part++) {
        const { stdout } = run(script.slice(0, Math.floor((script.length * part) / 8)));
        expect([stdout, read(`${GUARD}/tags`)]).toEqual(['', null]);
      }
    },
  },
};

testRows(
  Object.entries(ROWS).flatMap(([name, row]) =>
    ['dash', 'bash'].map((shell) => [name, shell, row] as const),
  ),
)('%s: in %s', (_name, shell, { rescue, check }) => check(startRescue(shell, rescue)));

test('fails a wipe if anything is left', () => {
  const stand = startRescue('dash');
  stand.run(`printf '#!/bin/sh\\nexit 1\\n' > "$(command -v wipefs)"`);
  expect(stand.run(whole(wipeScript())).status).toBe(1);
});

test('quotes any text as one word of the shell', () => {
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

test('does not accept foreign output as a look', () => {
  for (const text of ['', '\n\n', ' x', 'hostname', 'guard \nguard x', '\0']) {
    expect(typeof readLook(text).hostname).toBe('string');
  }
  expect(readLook('hostname rescue\nguard !!!\ninstalled e30=')).toMatchObject({
    hostname: 'rescue',
    guard: { tags: null },
    installed: null,
  });
});
