import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { selectRootDevice } from '../../../src/agent/install/root-device.ts';
import { uploadOf } from '../../contracts/upload-of.ts';
import { createStand, live, nothing } from './stand.ts';
import type { HostsStand } from './stand.ts';

const DISK_BYTES = 64 * 1024 * 1024;
const PATH = '/root/agent.mjs';
/** What an agent does to have its machine rebooted. */
const rebooter = uploadOf(
  Buffer.from(`#!/usr/bin/env node
import { execFileSync } from 'node:child_process';
execFileSync('/bin/sh', ['-c', process.env.SHEPHERD_AGENT_REBOOT_COMMAND]);
setInterval(() => undefined, 1000);
`),
);

let stand: HostsStand;
beforeEach(async () => {
  stand = await createStand();
});
afterEach(() => stand.close());

describe('a machine with an installation disk', () => {
  const disk = () => join(stand.snapshot('a').root, 'dev/vda');

  test('shows the disk like a real one, empty, and without using space', async () => {
    await stand.replace({ diskBytes: DISK_BYTES });
    await stand.raise('a');
    const { root } = stand.snapshot('a');
    expect(selectRootDevice(root, { name: 'vda' }).sizeBytes).toBe(DISK_BYTES);
    expect(selectRootDevice(root, { serial: 'disk-vda' }).name).toBe('vda');
    const { size, blocks } = statSync(disk());
    expect([size, blocks]).toEqual([DISK_BYTES, 0]);
  });

  test('boots once at the request of its own software; the disk keeps its content', async () => {
    await stand.replace({ diskBytes: DISK_BYTES });
    const session = await stand.raise('a');
    writeFileSync(disk(), 'an image', { flag: 'r+' });
    const { bootId, seen } = stand.snapshot('a');
    await session.upload(PATH, rebooter, live);
    // The boot may cut the session before the answer; the check below shows whether it happened.
    await session.execute([PATH], nothing, live).catch(() => undefined);
    await expect.poll(() => stand.snapshot('a').seen.boots).toBe(seen.boots + 1);
    await expect.poll(() => stand.snapshot('a').up).toBe(true);
    expect(stand.snapshot('a').bootId).not.toBe(bootId);
    expect(stand.snapshot('a').agentPids).toEqual([]);
    expect(readFileSync(disk()).subarray(0, 8).toString()).toBe('an image');
    await stand.connect('a');
    expect(stand.snapshot('a').seen.boots).toBe(seen.boots + 1);
  });

  test('is not the default: agents find no disk', async () => {
    await stand.raise('a');
    expect(() => selectRootDevice(stand.snapshot('a').root, { name: 'vda' })).toThrow(/none/);
  });
});
