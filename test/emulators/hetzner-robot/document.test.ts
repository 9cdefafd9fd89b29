import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { EFFECT_TYPES, type FaultRule } from '../../../emulators/hetzner-robot/fault-rules.ts';
import { testEmulatorDocument } from '../emulator-document.ts';
import { ROOT } from '../equinix/document.ts';
import { startRobot } from './harness.ts';

const path = 'docs/fakerobot.md';
const blocks = testEmulatorDocument({ path, module: 'hetzner-robot/emulator.ts' });

test('the rules that are shown can be used', async () => {
  const [example] = blocks.filter(({ language }) => language === 'yaml');
  const { fake } = await startRobot({ servers: 2, faults: parse(example!.text) as FaultRule[] });
  expect(fake.faults()).toHaveLength(2);
});

test('every effect is in the document', () => {
  const text = readFileSync(join(ROOT, path), 'utf8');
  expect(EFFECT_TYPES.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});
