import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { startAnexiaEmulator } from '../../../emulators/anexia/emulator.ts';
import type { FaultRule } from '../../../emulators/anexia/api.ts';
import { testEmulatorDocument } from '../emulator-document.ts';

const blocks = testEmulatorDocument({ path: 'docs/fakengine.md', module: 'anexia/emulator.ts' });

test('the rules that are shown can be used', async () => {
  const [example] = blocks.filter(({ language }) => language === 'yaml');
  const faults = parse(example!.text) as FaultRule[];
  const fake = await startAnexiaEmulator({ listen: { host: '127.0.0.1', port: 0 }, faults });
  onTestFinished(() => fake.close());
  expect(fake.faults()).toHaveLength(2);
});
