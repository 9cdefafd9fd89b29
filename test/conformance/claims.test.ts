import { expect, test } from 'vitest';
import { claiming } from './broken/claims.ts';
import { labWith, runLab } from './lab.ts';
import { badIn, resultOf } from './stand.ts';

test('finds the claims of a driver recorded before, and none after', async () => {
  const only = ['claims', 'claims-dropped'];
  const { exitCode, report } = await runLab({ change: claiming() }, { only });
  expect(badIn(report)).toEqual([]);
  expect(exitCode).toBe(0);
  expect(resultOf(report, 'claims').outcome).toBe('passed');
  expect(resultOf(report, 'claims-dropped').outcome).toBe('passed');
});

test('counts other records of a driver as no claim', async () => {
  const lab = labWith((provider, { records, instanceSetId: set }) => ({
    async listMachines(filter, options) {
      const { signal } = options;
      const all = await records.all({ signal });
      const isCounted = all.some(({ key }) => key === 'calls');
      if (!isCounted) await records.make('calls', { set, count: 1 }, { signal });
      return provider.listMachines(filter, options);
    },
  }));
  const only = ['claims', 'claims-dropped'];
  const { report } = await runLab(lab, { only });
  const none = { outcome: 'skipped', message: 'the driver keeps no records of its machines' };
  expect(resultOf(report, 'claims')).toMatchObject(none);
  expect(resultOf(report, 'claims-dropped')).toMatchObject(none);
});
