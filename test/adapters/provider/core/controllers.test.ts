import { expect, test } from 'vitest';
import type { Provider } from '../../../../src/adapters/provider/port.ts';
import { ProviderError } from '../../../../src/domain/errors.ts';
import { EVERYTHING, fleetOf, live, machine, scripted } from '../../../doubles/scripted-driver.ts';

/** The driver can, and nothing can be read of the machine while its controller hangs. */
const hung = (resetController: NonNullable<Provider['resetController']>): Provider => ({
  ...scripted({
    resetController,
    getMachine: async () => {
      throw new ProviderError('transient', 'the controller does not answer');
    },
  }),
  capabilities: { ...EVERYTHING, resetController: true },
});
const done = { operationRef: 'reset 1' };
const asks: NonNullable<Provider['resetController']> = async (id, options) => {
  options.requireOurs(machine(id));
  await options.beforeSending?.();
  return done;
};

test('a controller is restarted without a look at the machine, which it hides', async () => {
  const steps: string[] = [];
  const { fleet } = fleetOf(hung(asks));
  const beforeSending = async () => void steps.push('before sending');
  await expect(fleet.resetController('a', { ...live, beforeSending })).resolves.toEqual(done);
  expect(steps).toEqual(['before sending']);
});

test('nothing is sent that is no longer wanted, nor of what is not ours', async () => {
  const sent: string[] = [];
  const driver = hung(async (id, options) => {
    options.requireOurs(machine(id, id === 'f' ? { tags: {} } : {}));
    await options.beforeSending?.();
    sent.push(id);
    return done;
  });
  const { fleet } = fleetOf(driver);
  const over = new Error('it came back');
  const beforeSending = () => Promise.reject(over);
  await expect(fleet.resetController('a', { ...live, beforeSending })).rejects.toBe(over);
  await expect(fleet.resetController('f', live)).rejects.toMatchObject({ code: 'conflict' });
  expect(sent).toEqual([]);
});

test('a driver that does not tell whose the machine is, is found out', async () => {
  const { fleet } = fleetOf(hung(async () => done));
  await expect(fleet.resetController('a', live)).rejects.toMatchObject({
    code: 'permanent',
    outcome: 'unknown',
  });
});

test('one that cannot is not asked', async () => {
  const { fleet } = fleetOf(scripted({ resetController: asks }));
  await expect(fleet.resetController('a', live)).rejects.toMatchObject({ code: 'not-implemented' });
});
