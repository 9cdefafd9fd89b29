import { Command, InvalidArgumentError } from 'commander';
import { describe, expect, test } from 'vitest';
import {
  countOf,
  drainOf,
  durationOf,
  imageOf,
  rootDeviceOf,
  someOf,
  untilMsOf,
  whenOf,
  wordsOf,
} from '../../src/commands/options.ts';
import { addDetails, bodyOf, targetAndFlags } from '../../src/commands/verb-options.ts';
import { selecting } from '../../src/commands/remote/ask-flags.ts';
import type { MachineVerb } from '../../src/domain/verbs.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { testRows } from '../support/rows.ts';

const NOW = Date.UTC(2025, 10, 1, 12);
const HOUR = 3_600_000;

describe('an end', () => {
  testRows([
    ['2h', NOW + 2 * HOUR],
    ['90d', NOW + 90 * 24 * HOUR],
    ['2025-12-01', Date.UTC(2025, 11, 1)],
    ['2025-12-01T10:00:00Z', Date.UTC(2025, 11, 1, 10)],
    ['2025-12-01 10:00Z', Date.UTC(2025, 11, 1, 10)],
    ['2025-12-01T10:00:00+02:00', Date.UTC(2025, 11, 1, 8)],
  ])('%s is understood', (text, atMs) => {
    expect(untilMsOf(whenOf(text), NOW)).toBe(atMs);
  });

  testRows(['2025-12-01T10:00:00', 'tomorrow', '0s', '-2h', '2025-13-01', '', '1764583200'])(
    '%s is none: nobody knows when that is',
    (text) => {
      expect(() => whenOf(text)).toThrow(InvalidArgumentError);
    },
  );

  test('that is past is a mistake, and none is none', () => {
    expect(() => untilMsOf(whenOf('2025-10-31'), NOW)).toThrow(UsageError);
    expect(untilMsOf(undefined, NOW)).toBeNull();
  });
});

test('durations, numbers and names are read, and nothing else', () => {
  expect(durationOf('0s')).toBe(0);
  expect(durationOf('90s')).toBe(90_000);
  expect(countOf('12')).toBe(12);
  expect(wordsOf('a, b', ['x'])).toEqual(['x', 'a', 'b']);
  for (const text of ['', '90', '1.5h']) expect(() => durationOf(text)).toThrow(/duration/);
  for (const text of ['', '-1', '1.5', '1e3']) expect(() => countOf(text)).toThrow(/whole number/);
  for (const text of ['', 'a,,b', 'a,']) expect(() => wordsOf(text)).toThrow(/single commas/);
});

test('no lines at all are no number of lines', () => {
  expect(someOf('1')).toBe(1);
  for (const text of ['0', '00', '-1', 'x']) {
    expect(() => someOf(text), text).toThrow(InvalidArgumentError);
  }
});

describe('an image', () => {
  const flags = {
    imageUrl: 'https://images.example/a.raw',
    sha256: 'AB'.repeat(32),
    compression: 'zstd',
    rootDevice: { serial: 'S1' },
  } as const;

  test('is what the flags say', () => {
    expect(imageOf(flags)).toEqual({
      url: flags.imageUrl,
      sha256: 'ab'.repeat(32),
      compression: 'zstd',
      rootDevice: { serial: 'S1' },
    });
  });

  test('is refused with its reason, which does not repeat what may be secret', () => {
    const image = (change: object) => () => imageOf({ ...flags, ...change });
    for (const who of ['ann:hush@', 'ann@', ':hush@']) {
      const refused = image({ imageUrl: `https://${who}images.example/a.raw` });
      expect(refused).toThrow(UsageError);
      expect(refused).toThrow(/its url has a user name or a password/);
      expect(refused).not.toThrow(/hush|ann[:@]/);
    }
    expect(image({ imageUrl: 'ftp://images.example/a' })).toThrow(/not an http or https/);
    expect(image({ sha256: 'ab' })).toThrow(/sha256/);
  });

  test('goes onto one disk, named in one way', () => {
    expect(rootDeviceOf('name=nvme0n1')).toEqual({ name: 'nvme0n1' });
    expect(rootDeviceOf('wwn=eui.0025388b')).toEqual({ wwn: 'eui.0025388b' });
    for (const text of ['sda', 'name=', 'path=/dev/sda', 'name= x']) {
      expect(() => rootDeviceOf(text), text).toThrow(InvalidArgumentError);
    }
  });
});

test('how a machine leaves its pools: waited for, by force, or not at all', () => {
  expect(drainOf({ drain: true, forceDrain: false })).toBeNull();
  expect(drainOf({ drain: true, forceDrain: true })).toBe('force');
  expect(drainOf({ drain: false, forceDrain: false })).toBe('skip');
  expect(() => drainOf({ drain: false, forceDrain: true })).toThrow('exclude each other');
});

testRows<readonly [MachineVerb, readonly string[], object]>([
  ['restart-agent', [], { drain: null }],
  ['reboot', ['--force', '--no-drain'], { force: true, drain: 'skip' }],
  ['deprovision', ['--return-to-pool', '--yes'], { returnToPool: true, drain: null }],
  [
    'hold',
    ['--kind', 'no-serve', '--force', '--from', '1h'],
    { kind: 'no-serve', fromMs: NOW + HOUR, untilMs: null, force: true },
  ],
  [
    'hold',
    ['--kind', 'preserve', '--from', '2001-01-01'],
    { kind: 'preserve', fromMs: null, untilMs: null, force: false },
  ],
  ['quarantine', ['--until', '2h'], { untilMs: NOW + 2 * HOUR }],
  ['release', ['--forget-host-key', '--yes'], { forgetHostKey: true }],
  ['note', ['a', 'new disk'], { text: 'a new disk' }],
  ['label', ['rack=b4', 'team-'], { set: 'rack=b4,team-' }],
  ['clear-backoff', [], {}],
])('what the API is asked for by %s with %j', (verb, flags, body) => {
  const { name, ...asked } = parsed(verb, ['metal/a', ...flags]);
  expect(name).toBe('metal/a');
  expect(bodyOf(verb, asked, NOW)).toEqual({ verb, ...body });
});

test('words after a verb are its text; where options choose the machines, all of them are', () => {
  const { name, ...asked } = parsed('label', ['rack=b4', 'team-', '--all']);
  expect([name, bodyOf('label', asked, NOW)]).toEqual([
    undefined,
    { verb: 'label', set: 'rack=b4,team-' },
  ]);
  expect(() => parsed('note', ['metal/a'])).toThrow('<text> is missing');
});

function parsed(verb: MachineVerb, args: readonly string[]) {
  const asked: ReturnType<typeof targetAndFlags>[] = [];
  selecting(addDetails(new Command(verb).argument('[machine]'), verb), '0s', 'why')
    .exitOverride()
    .action((...given: readonly unknown[]) => void asked.push(targetAndFlags(verb, given)))
    .parse([...args], { from: 'user' });
  return asked[0]!;
}
