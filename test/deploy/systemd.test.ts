import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isProvided } from '../support/programs.ts';

const SOURCE = join(import.meta.dirname, '../../deploy/systemd');
const UNITS = ['shepherd.service', 'shepherd-agents.socket', 'shepherd-console.socket'];
const read = (unit: string) => readFileSync(join(SOURCE, unit), 'utf8');
const valuesOf = (unit: string, key: string) =>
  [...read(unit).matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value);

const analyze = '/usr/bin/systemd-analyze';
const hasAnalyze = isProvided(existsSync(analyze), { tested: 'the unit', by: 'systemd' });

describe.runIf(hasAnalyze)('V62 the unit, judged by systemd without a start', () => {
  const dir = mkdtempSync(join(tmpdir(), 'shepherd-units-'));
  afterAll(() => rmSync(dir, { recursive: true }));
  beforeAll(() => {
    // The path of Node on this machine: a unit whose program is missing is invalid.
    for (const unit of UNITS) {
      const text = read(unit).replace('/usr/bin/node', process.execPath);
      writeFileSync(join(dir, unit), text.replace(/^Documentation=.*$/m, ''));
    }
  });
  const file = (unit: string) => join(dir, unit);

  test('is valid, with its sockets', () => {
    const { status, stderr } = spawnSync(analyze, ['verify', ...UNITS.map(file)], {
      encoding: 'utf8',
    });
    const ours = stderr.split('\n').filter((line) => line.includes('shepherd'));
    expect({ status, ours }).toEqual({ status: 0, ours: [] });
  });

  test('is reported when it has a mistake', () => {
    const wrong = file('wrong.service');
    writeFileSync(wrong, read('shepherd.service').replace('WatchdogSec=60', 'WatchdogSec=often'));
    const { stderr } = spawnSync(analyze, ['verify', wrong], { encoding: 'utf8' });
    expect(stderr).toMatch(/wrong.service:\d+: Failed to parse sec value, ignoring: often/);
  });

  test('has an exposure of at most 2.0', () => {
    const said = execFileSync(
      analyze,
      ['security', '--offline=true', '--no-pager', file('shepherd.service')],
      { encoding: 'utf8' },
    );
    const exposure = /Overall exposure level for shepherd.service: ([\d.]+)/.exec(said)?.[1];
    expect(Number(exposure)).toBeLessThanOrEqual(2);
  });
});

test('states what the daemon relies on', () => {
  const service = (key: string) => valuesOf('shepherd.service', key);
  expect(service('Type')).toEqual(['notify']);
  expect(service('NotifyAccess'), 'systemd-notify is a child').toEqual(['all']);
  expect(service('WatchdogSec')).toEqual(['60']);
  expect(service('KillMode'), 'what tells systemd is told of no signal').toEqual(['mixed']);
  expect(service('RestartPreventExitStatus'), 'a mistake of the configuration').toEqual(['2']);
  expect(service('MemoryDenyWriteExecute'), 'V8 writes code').toEqual([]);
  expect(valuesOf('shepherd-agents.socket', 'FileDescriptorName')).toEqual(['agents']);
  expect(valuesOf('shepherd-console.socket', 'FileDescriptorName')).toEqual(['console']);
});
