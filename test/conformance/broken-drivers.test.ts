import { expect, test } from 'vitest';
import type { Provider } from '../../src/adapters/provider/port.ts';
import { STEPS } from '../../src/conformance/steps.ts';
import { declaring } from './broken/broken.ts';
import { BROKEN_CHANGING } from './broken/changing.ts';
import { BROKEN_CLAIMS } from './broken/claims.ts';
import { BROKEN_CONTACT } from './broken/contact.ts';
import { BROKEN_CREATION } from './broken/creation.ts';
import { BROKEN_ENDING } from './broken/ending.ts';
import { BROKEN_OPENING } from './broken/opening.ts';
import { BROKEN_UNDECLARED } from './broken/undeclared.ts';
import { runLab } from './lab.ts';
import { badIn, outcomes, resultOf } from './stand.ts';

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const BROKEN = [
  ...BROKEN_OPENING,
  ...BROKEN_CREATION,
  ...BROKEN_CONTACT,
  ...BROKEN_CHANGING,
  ...BROKEN_ENDING,
  ...BROKEN_CLAIMS,
  ...BROKEN_UNDECLARED,
];

test('fails the step about a driver’s mistake, which names the mistake', async () => {
  const told: string[] = [];
  for (const { what, step, ...lab } of BROKEN) {
    const { exitCode, report } = await runLab(lab, { only: [step] });
    const first = badIn(report)[0] ?? 'every step passed';
    expect(first, what).toMatch(new RegExp(`^${step} failed`));
    expect({ exitCode, passed: report.passed }).toEqual({ exitCode: 1, passed: false });
    const message = resultOf(report, step).message.replaceAll(UUID, '<id>');
    told.push(`A driver that ${what}\n    ${step}: ${message}\n`);
  }
  await expect(told.join('\n')).toMatchFileSnapshot('golden/broken-drivers.txt');
});

test('has seen every step fail, or ask the tester', () => {
  const seen = new Set(BROKEN.map(({ step }) => step));
  const unseen = STEPS.map(({ id }) => id).filter((id) => !seen.has(id));
  expect(unseen).toEqual(['config', 'existing', 'command', 'pause', 'release']);
});

test('counts a missing method as a refusal too', async () => {
  const change = (provider: Provider) => ({
    ...declaring(provider, { power: false }),
    setPower: undefined as never,
  });
  const { exitCode, report } = await runLab({ change }, { only: ['power'] });
  expect([exitCode, outcomes(report)['power']]).toEqual([0, 'skipped']);
});

test('requests a refusal once, and counts its failure once', async () => {
  const change = (provider: Provider) => ({
    ...declaring(provider, { create: false }),
    createMachine: async () => ({ id: null }) as never,
  });
  const { report } = await runLab({ change });
  const others = ['create', 'listed', 'tags', 'idempotent', 'witness', 'rival', 'sweep'];
  const seen = ['unannounced', ...others].map((id) => outcomes(report)[id]);
  expect(seen).toEqual(['failed', ...others.map(() => 'not-run')]);
});
