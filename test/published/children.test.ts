import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { judgedChild, takeExchangesOfChildren } from './children.ts';
import { judge } from './equinix/judge.ts';

/** Sends messages like an emulator, on its channel. */
const PROGRAM = `
  const { channel } = require('node:diagnostics_channel');
  const said = { method: 'GET', route: '/devices/{id}', path: '/devices/x', query: {}, status: 200 };
  const rest = { userAgent: '', isInjected: false, forcedStates: new Set(['odd']) };
  for (const state of ['odd', 'even']) {
    const reply = JSON.stringify({ state });
    channel('shepherd:equinix:exchange').publish({ ...said, ...rest, reply });
  }`;

test('A: judges the exchanges of an emulator in a child process', () => {
  expect(takeExchangesOfChildren()).toEqual([]);
  execFileSync(process.execPath, ['-e', PROGRAM], { env: { ...process.env, ...judgedChild } });
  const exchanges = takeExchangesOfChildren();
  expect(exchanges.map((one) => judge(one))).toEqual([
    [],
    [expect.stringContaining('Device.state is to be =queued')],
  ]);
  expect(takeExchangesOfChildren()).toEqual([]);
});
