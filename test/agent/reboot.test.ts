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

/** The actions of a reboot when each of its programs ends as given: well, if named. */
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

describe('a reboot', () => {
  test('writes back first, then escalates its requests, at last to the kernel', async () => {
    expect(await stepsOf('sync')).toEqual([
      ...['sync', 'systemctl reboot', 'reboot', 'reboot -f', 's', 'u', 'b'],
    ]);
  });

  test('waits a minute before it escalates a successful request', async () => {
    expect(await stepsOf('systemctl', 'reboot')).toEqual([
      ...['sync', 'systemctl reboot', 'wait 60000', 'reboot', 'wait 60000'],
      ...['reboot -f', 'wait 60000', 's', 'u', 'b'],
    ]);
  });

  test('handles a program that succeeds, fails or is missing', async () => {
    expect(await runToEnd('/bin/sh', ['-c', 'exit 0'], AMPLE)).toBe(true);
    expect(await runToEnd('/bin/sh', ['-c', 'exit 1'], AMPLE)).toBe(false);
    expect(await runToEnd('/nowhere/program', [], AMPLE)).toBe(false);
  });

  test('does not wait for a program that no signal ends', async () => {
    const kill = vi.fn<() => boolean>(() => true);
    const unref = vi.fn<() => void>();
    const hangs = Object.assign(new EventEmitter(), { kill, unref });
    expect(await runToEnd('sync', [], { ...SOON, start: () => hangs })).toBe(false);
    expect(kill).toHaveBeenCalledExactlyOnceWith('SIGKILL');
    expect(unref).toHaveBeenCalledOnce();
  });

  test('takes the machine down after the last report of an agent that installed an image', async () => {
    const steps: string[] = [];
    const reboot = () => Promise.resolve(void steps.push('reboot'));
    const sleep = (delayMs: number) => Promise.resolve(void steps.push(`wait ${delayMs}`));
    await rebootAfter('installed', { reboot }, new AbortController().signal, { sleep });
    expect(steps).toEqual(['wait 1000', 'reboot']);
  });

  test.each(['disowned', 'unusable'] as const)(
    'C2: leaves the machine alone when the agent ends as %s',
    async (end) => {
      const reboot = vi.fn<() => Promise<void>>(() => Promise.resolve());
      const sleep = () => Promise.resolve();
      await rebootAfter(end, { reboot }, new AbortController().signal, { sleep });
      expect(reboot).not.toHaveBeenCalled();
    },
  );

  test('leaves the machine alone when the agent was stopped, even at the last moment', async () => {
    const reboot = vi.fn<() => Promise<void>>(() => Promise.resolve());
    const stop = new AbortController();
    const sleep = () => Promise.resolve(stop.abort());
    await rebootAfter('stopped', { reboot }, new AbortController().signal, { sleep });
    await rebootAfter('installed', { reboot }, stop.signal, { sleep });
    expect(reboot).not.toHaveBeenCalled();
  });
});

describe('the system', () => {
  const plant = () => {
    const directory = mkdtempSync(join(tmpdir(), 'shepherd-system-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    writeFileSync(join(directory, 'boot_id'), 'boot-1\n');
    return directory;
  };

  test('is the real one, with its reboot, unless a file replaces the boot id', async () => {
    const reboot = vi.fn<() => Promise<void>>(() => Promise.resolve());
    const real = openSystem({ SHEPHERD_AGENT_REBOOT_COMMAND: 'exit 1' }, reboot);
    expect(real).toMatchObject({ isReal: true, diskRoot: '/' });
    expect(real.bootId).toMatch(/^[\da-f-]{36}$/);
    await real.reboot();
    expect(reboot).toHaveBeenCalledOnce();
  });

  test('never reboots for real when simulated, and has no programs or disks', async () => {
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
