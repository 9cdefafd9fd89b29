import { EventEmitter } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { rebootAfter } from '../../src/agent/detached.ts';
import { rebootForReal, runToEnd } from '../../src/agent/reboot.ts';
import { openSystem } from '../../src/agent/system.ts';

const SOON = { limitMs: 50 };
const AMPLE = { limitMs: 60_000 };

/** What a reboot does when each of its programs ends as told: well, if named. */
async function stepsOf(...wells: string[]): Promise<string[]> {
  const steps: string[] = [];
  await rebootForReal({
    run(name, args) {
      steps.push([name, ...args].join(' '));
      return Promise.resolve(wells.includes(name));
    },
    wait(delayMs) {
      steps.push(`wait ${delayMs}`);
      return Promise.resolve();
    },
    request: (letter) => void steps.push(letter),
  });
  return steps;
}

describe('reboot', () => {
  test('writes back first, then asks harder and harder, at last the kernel', async () => {
    expect(await stepsOf('sync')).toEqual([
      ...['sync', 'systemctl reboot', 'reboot', 'reboot -f', 's', 'u', 'b'],
    ]);
  });

  test('does not ask harder before what was asked well had a minute', async () => {
    expect(await stepsOf('systemctl', 'reboot')).toEqual([
      ...['sync', 'systemctl reboot', 'wait 60000', 'reboot', 'wait 60000'],
      ...['reboot -f', 'wait 60000', 's', 'u', 'b'],
    ]);
  });

  test('a program ends well, or badly, or is none', async () => {
    expect(await runToEnd('/bin/sh', ['-c', 'exit 0'], AMPLE)).toBe(true);
    expect(await runToEnd('/bin/sh', ['-c', 'exit 1'], AMPLE)).toBe(false);
    expect(await runToEnd('/nowhere/program', [], AMPLE)).toBe(false);
  });

  test('is not held up by a program that no signal ends', async () => {
    const kill = vi.fn<() => boolean>(() => true);
    const unref = vi.fn<() => void>();
    const hangs = Object.assign(new EventEmitter(), { kill, unref });
    expect(await runToEnd('sync', [], { ...SOON, start: () => hangs })).toBe(false);
    expect(kill).toHaveBeenCalledExactlyOnceWith('SIGKILL');
    expect(unref).toHaveBeenCalledOnce();
  });

  test('an agent that installed an image takes the machine down, after its last word', async () => {
    const steps: string[] = [];
    const reboot = () => Promise.resolve(void steps.push('reboot'));
    const sleep = (delayMs: number) => Promise.resolve(void steps.push(`wait ${delayMs}`));
    await rebootAfter('installed', { reboot }, new AbortController().signal, { sleep });
    expect(steps).toEqual(['wait 1000', 'reboot']);
  });

  test.each(['disowned', 'unusable'] as const)(
    'C2: an agent that ends as %s leaves the machine as it is',
    async (end) => {
      const reboot = vi.fn<() => Promise<void>>(() => Promise.resolve());
      const sleep = () => Promise.resolve();
      await rebootAfter(end, { reboot }, new AbortController().signal, { sleep });
      expect(reboot).not.toHaveBeenCalled();
    },
  );

  test('an agent that was stopped leaves the machine alone, also at the last moment', async () => {
    const reboot = vi.fn<() => Promise<void>>(() => Promise.resolve());
    const stop = new AbortController();
    const sleep = () => Promise.resolve(stop.abort());
    await rebootAfter('stopped', { reboot }, new AbortController().signal, { sleep });
    await rebootAfter('installed', { reboot }, stop.signal, { sleep });
    expect(reboot).not.toHaveBeenCalled();
  });
});

describe('system', () => {
  const plant = () => {
    const directory = mkdtempSync(join(tmpdir(), 'shepherd-system-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    writeFileSync(join(directory, 'boot_id'), 'boot-1\n');
    return directory;
  };

  test('is the real one, with its reboot, unless a file stands in for the boot id', async () => {
    const reboot = vi.fn<() => Promise<void>>(() => Promise.resolve());
    const real = openSystem({ SHEPHERD_AGENT_REBOOT_COMMAND: 'exit 1' }, reboot);
    expect(real).toMatchObject({ isReal: true, diskRoot: '/' });
    expect(real.bootId).toMatch(/^[\da-f-]{36}$/);
    await real.reboot();
    expect(reboot).toHaveBeenCalledOnce();
  });

  test('one that is simulated never reboots for real, and has no programs or disks', async () => {
    const directory = plant();
    const reboot = vi.fn<() => Promise<void>>(() => Promise.resolve());
    const env = { SHEPHERD_AGENT_BOOT_ID_FILE: join(directory, 'boot_id') };
    const bare = openSystem(env, reboot);
    expect(bare).toMatchObject({ isReal: false, diskRoot: null, bootId: 'boot-1' });
    expect(bare.programs.find('sh')).toBeNull();
    await bare.reboot();
    const told = `echo down > '${join(directory, 'told')}'`;
    await openSystem({ ...env, SHEPHERD_AGENT_REBOOT_COMMAND: told }, reboot).reboot();
    expect(readFileSync(join(directory, 'told'), 'utf8')).toBe('down\n');
    expect(reboot).not.toHaveBeenCalled();
  });
});
