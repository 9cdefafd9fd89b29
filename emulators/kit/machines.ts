import type { MachineHooks } from './hooks.ts';
import type { EmulatorLog } from './log.ts';

export type Machines = ReturnType<typeof createMachines>;

/** Calls the hooks, one after another per device; an error is logged and changes nothing. */
export function createMachines(hooks: MachineHooks | undefined, log: EmulatorLog) {
  const queues = new Map<string, Promise<void>>();
  let stopped = false;
  const call = async (
    deviceId: string,
    what: string,
    fn: (hooks: MachineHooks) => Promise<void>,
  ) => {
    if (stopped || !hooks) return;
    try {
      await fn(hooks);
    } catch (err) {
      log.error({ device: deviceId, hook: what, err }, 'a hook of the simulated machine failed');
    }
  };
  return {
    /** False: devices exist on paper only. */
    exist: hooks !== undefined,
    /** Queues a call. `fn` may change the device after the hook's answer. */
    tell: (deviceId: string, what: string, fn: (hooks: MachineHooks) => Promise<void>): void => {
      const before = queues.get(deviceId) ?? Promise.resolve();
      const mine = before.then(() => call(deviceId, what, fn));
      queues.set(deviceId, mine);
      void mine.then(() => {
        if (queues.get(deviceId) === mine) queues.delete(deviceId);
      });
    },
    /** Resolves when nothing runs or waits. */
    settled: async (): Promise<void> => {
      while (queues.size > 0) await Promise.all(queues.values());
    },
    /** Calls that have not started never start. */
    stop: () => {
      stopped = true;
    },
  };
}
