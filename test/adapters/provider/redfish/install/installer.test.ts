import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../../../src/adapters/log/port.ts';
import {
  createInstallerFiles,
  rangeOf,
  SEED_PLACEHOLDER,
} from '../../../../../src/adapters/provider/redfish/install/installer-files.ts';
import { createSeedServer } from '../../../../../src/adapters/provider/redfish/install/seed-server.ts';
import type { SeedService } from '../../../../../src/adapters/provider/redfish/install/seed-service.ts';
import { startInstalls } from './stand.ts';

const SHA256 = 'ab'.repeat(32);
const IMAGE = { url: 'http://images.example.net/debian.raw.zst', sha256: SHA256 };
/** As a virtual CD would be: the placeholder is amid other bytes. */
const ISO = `${'A'.repeat(1_000)}linux ${SEED_PLACEHOLDER} quiet\n${'Z'.repeat(1_000)}`;

/** The directory of an installer. */
function installerDirectory(): string {
  const installer = mkdtempSync(join(tmpdir(), 'shepherd-installer-'));
  onTestFinished(() => rmSync(installer, { recursive: true }));
  writeFileSync(join(installer, 'installer.iso'), ISO);
  writeFileSync(join(installer, 'arguments'), 'console=tty0');
  return installer;
}

const startOurs = (method: 'vmedia' | 'uefihttp' | 'pxe', entry = {}) =>
  startInstalls({
    install: {
      ...{ method, installer: installerDirectory(), iso: undefined },
      ...{ seedUrl: 'http://127.0.0.1:8080/', image: { ...IMAGE, compression: 'zstd' } },
    },
    entry: () => entry,
  });

test('the BMC gets an ISO of the seed server, while the installation lasts', async () => {
  const rack = await startOurs('vmedia');
  await rack.create();
  const token = rack.token();
  expect(rack.media()[0]!.image).toBe(`${rack.seedUrl}/s/${token}/installer.iso`);
  expect((await rack.ask(`/s/${'a'.repeat(52)}/installer.iso`)).status).toBe(404);
  expect((await rack.ask(`/s/${token}/install`)).status).toBe(200);
  await rack.ask(`/s/${token}/done`, 'POST');
  expect((await rack.ask(`/s/${token}/installer.iso`)).status).toBe(404);
  expect((await rack.ask(`/s/${token}/install`)).status).toBe(404);
});

test('an ISO is served in parts, with the address of the seed in it', async () => {
  const seed = 'http://seed.example.net:8480/s/abc/';
  const files = createInstallerFiles(installerDirectory());
  const service = { file: () => files.open('installer.iso', seed) } as Partial<SeedService>;
  const server = createSeedServer({
    ...{ at: { host: '127.0.0.1', port: 0 }, clock: systemClock, log: silentLog },
    service: service as SeedService,
  });
  onTestFinished(() => server.close());
  const url = `${await server.url()}/s/${'a'.repeat(52)}/installer.iso`;
  const expected = ISO.replace(
    SEED_PLACEHOLDER,
    `shepherd.seed=${seed}`.padEnd(SEED_PLACEHOLDER.length),
  );
  const whole = await fetch(url);
  expect(whole.headers.get('content-length')).toBe(String(ISO.length));
  expect(await whole.text()).toBe(expected);
  const head = await fetch(url, { method: 'HEAD' });
  expect([head.status, head.headers.get('accept-ranges')]).toEqual([200, 'bytes']);
  expect(await head.text()).toBe('');
  // Drives read in parts: some begin before, within and behind the address.
  const parts = [
    [0, 9],
    [1_000, 1_030],
    [1_015, 1_016],
    [1_240, 1_260],
    [2_200, 2_260],
  ] as const;
  for (const [first, last] of parts) {
    const part = await fetch(url, { headers: { range: `bytes=${first}-${last}` } });
    const end = Math.min(last, ISO.length - 1);
    const range = `bytes ${first}-${end}/${ISO.length}`;
    expect([part.status, part.headers.get('content-range')]).toEqual([206, range]);
    expect(await part.text()).toBe(expected.slice(first, last + 1));
  }
  const beyond = await fetch(url, { headers: { range: 'bytes=9999-' } });
  expect([beyond.status, beyond.headers.get('content-range')]).toEqual([
    416,
    `bytes */${ISO.length}`,
  ]);
});

test('the installer learns image, disk and the rest of its time', async () => {
  const rack = await startOurs('vmedia', { Disk: 'S4EWNX0R' });
  await rack.create();
  const { text } = await rack.ask(`/s/${rack.token()}/install`);
  const lines = Object.fromEntries(
    text
      .trim()
      .split('\n')
      .map((line) => line.split('=')),
  );
  const { seconds, ...rest } = lines as Record<string, string>;
  expect(rest).toEqual({ image: IMAGE.url, sha256: SHA256, compression: 'zstd', disk: 'S4EWNX0R' });
  expect(Number(seconds)).toBeGreaterThan(40 * 60);
  expect(Number(seconds)).toBeLessThanOrEqual(45 * 60);
});

test('our installer says why it failed; what others send is not kept', async () => {
  const reasons: string[] = [];
  for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
    const rack = await startOurs('vmedia');
    await rack.create();
    const options = { method: 'POST', headers: { 'content-type': type }, body: 'no disk\nhas S4' };
    await rack.inTime(rack.network!.fetch(`${rack.seedUrl}/s/${rack.token()}/failed`, options));
    reasons.push((await rack.claim())!.result!.why);
  }
  expect(reasons).toEqual(['no disk has S4', 'as its installer reports']);
});

test('UEFI HTTP boot gets the ISO of the seed server', async () => {
  const rack = await startOurs('uefihttp');
  await rack.create();
  const uri = rack.system().boot.httpBootUri!;
  expect(uri).toMatch(/^http:\/\/127\.0\.0\.1:8080\/s\/[a-z2-7]{52}\/installer\.iso$/);
});

test('iPXE boots kernel and initramfs from the seed server', async () => {
  const rack = await startOurs('pxe');
  await rack.create();
  const { text } = await rack.ask(`/m/${rack.system().mac}/ipxe`);
  const seed = /set shepherd-seed (\S+)/.exec(text)![1]!;
  expect(text).toContain(`kernel ${seed}linux initrd=initrd shepherd.seed=${seed} console=tty0\n`);
  expect(text).toContain(`\ninitrd ${seed}initrd\nboot\n`);
});

test.each([
  [undefined, null],
  ['bytes=0-0', { first: 0, last: 0 }],
  ['bytes=5-', { first: 5, last: 9 }],
  ['bytes=-3', { first: 7, last: 9 }],
  ['bytes=-30', { first: 0, last: 9 }],
  ['bytes=8-20', { first: 8, last: 9 }],
  ['bytes=10-', 'none'],
  // Ranges that we do not support are ignored (RFC 9110, section 14.2).
  ['bytes=0-1,3-4', null],
  ['lines=0-1', null],
] as const)('the range %s of ten bytes is %o', (header, range) => {
  expect(rangeOf(header, 10)).toEqual(range);
});
