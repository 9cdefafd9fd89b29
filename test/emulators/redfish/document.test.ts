import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { FaultRule } from '../../../emulators/redfish/fault-rules.ts';
import { testEmulatorDocument } from '../emulator-document.ts';
import { startFish } from './harness.ts';

const blocks = testEmulatorDocument({ path: 'docs/fakefish.md', module: 'redfish/emulator.ts' });

test('the rules that are shown can be used', async () => {
  const [example] = blocks.filter(({ language }) => language === 'yaml');
  const { fake } = await startFish({ systems: 2, faults: parse(example!.text) as FaultRule[] });
  expect(fake.faults()).toHaveLength(2);
});
