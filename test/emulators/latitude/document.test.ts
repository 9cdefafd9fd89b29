import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { EFFECT_TYPES, type FaultRule } from '../../../emulators/latitude/fault-rules.ts';
import { knobsSchema } from '../../../emulators/latitude/state/knobs.ts';
import type { Stock } from '../../../emulators/latitude/state/world.ts';
import { testEmulatorDocument } from '../emulator-document.ts';
import { ROOT } from '../equinix/document.ts';
import { startLatitude } from './harness.ts';

const path = 'docs/fakelatitude.md';
const blocks = testEmulatorDocument({ path, module: 'latitude/emulator.ts' });

test('the stock and the rules that are shown can be used', async () => {
  const [stock, rules] = blocks.filter(({ language }) => language === 'yaml');
  const { fake } = await startLatitude({
    stock: parse(stock!.text) as Stock,
    faults: parse(rules!.text) as FaultRule[],
  });
  expect(fake.stock()['c3-small-x86']).toMatchObject({ ASH: 10, SAO: 2, FRA: 0 });
  expect(fake.faults()).toHaveLength(2);
});

test('every effect and every knob is in the document', () => {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const missing = [...EFFECT_TYPES, ...Object.keys(knobsSchema.shape)].filter(
    (name) => !text.includes(`\`${name}\``),
  );
  expect(missing).toEqual([]);
});
