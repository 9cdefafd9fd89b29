import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { startFakengine } from '../../../src/simulator/fakengine/fakengine.ts';
import type { FaultRule } from '../../../src/simulator/fakengine/fault-rules.ts';
import { testEmulatorDocument } from '../emulator-document.ts';

const blocks = testEmulatorDocument({
  path: 'docs/fakengine.md',
  module: 'fakengine/fakengine.ts',
});

test('the rules that are shown can be used', async () => {
  const [example] = blocks.filter(({ language }) => language === 'yaml');
  const faults = parse(example!.text) as FaultRule[];
  const fake = await startFakengine({ listen: { host: '127.0.0.1', port: 0 }, faults });
  onTestFinished(() => fake.close());
  expect(fake.faults()).toHaveLength(2);
});
