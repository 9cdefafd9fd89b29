import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { ProviderMachine } from '../../../domain/machine.ts';
import type {
  CallOptions,
  Capabilities,
  FleetCall,
  FleetCreateRequest,
  FleetProvider,
  Provider,
} from '../port.ts';
import { requireRef } from './answers.ts';
import type { Absence } from './absence.ts';
import type { Calls, Step } from './calls.ts';
import { createOne } from './creation.ts';
import { type createFirstBoot, ourTags } from './first-boot.ts';
import type { createInventory } from './inventory.ts';
import type { Looks } from './looks.ts';
import type { WrittenTags } from './written-tags.ts';

export interface OrdersDeps {
  readonly run: Calls['run'];
  readonly looks: Looks;
  readonly boot: ReturnType<typeof createFirstBoot>;
  readonly written: WrittenTags;
  readonly absence: Pick<Absence, 'forget'>;
  /** Null: the driver makes machines. */
  readonly inventory: ReturnType<typeof createInventory> | null;
}

type Orders = Pick<
  FleetProvider,
  | 'createMachine'
  | 'deprovisionMachine'
  | 'rebootMachine'
  | 'reinstallMachine'
  | 'setPower'
  | 'setTags'
>;

/** What changes machines: only what the driver can, and, but for a creation, only ours. */
export function createOrders(provider: Provider, deps: OrdersDeps): Orders {
  const { run, looks, boot, written, absence, inventory } = deps;
  const { capabilities } = provider;
  const require = (capability: keyof Capabilities) => requireCapability(capabilities, capability);

  /** A driver that announces does it later, when its own queue lets the request through. */
  const checked = async ({ beforeSending }: CallOptions): Promise<void> => {
    if (!capabilities.announces) await beforeSending?.();
  };

  /** With the tags of ours that it has, even those that cannot be read yet. */
  async function requireOurs(id: string, step: Step): Promise<ProviderMachine> {
    const machine = await looks.requireOurs(id, step);
    return { ...machine, tags: { ...machine.tags, ...written.of(id) } };
  }

  async function create(request: FleetCreateRequest, step: Step): Promise<ProviderMachine> {
    if (inventory) return inventory.takeIn(request, (id) => looks.get(id, step));
    const { made, tags } = await createOne(provider, request, boot, step).finally(absence.forget);
    const machine = looks.seen(made);
    if (machine.id !== null) written.note(machine.id, ourTags({ tags }));
    return machine;
  }

  async function letGo(id: string, call: FleetCall, step: Step): Promise<void> {
    if (!inventory) require('deprovision');
    if (!(await stillThere(() => looks.requireOurs(id, step, call)))) return;
    if (!capabilities.deprovision) return call.beforeSending?.();
    await step('Destroy', async (options) => {
      await checked(options);
      await provider.deprovisionMachine(id, options);
    });
  }

  return {
    createMachine: (request, call) =>
      run('Create', call, (step) => create(request, step), request.witness),
    deprovisionMachine: (id, call) => run('Destroy', call, (step) => letGo(id, call, step)),
    rebootMachine: (id, mode, call) =>
      run('Reboot', call, async (step) => {
        require('reboot');
        await looks.requireOurs(id, step);
        return step('Reboot', async (options) => {
          await checked(options);
          return requireRef(await provider.rebootMachine(id, mode, options), 'rebootMachine');
        });
      }),
    reinstallMachine: (id, call) =>
      run('Reinstall', call, async (step) => {
        require('reinstall');
        const request = boot.forReinstallation(await requireOurs(id, step));
        return written.during(id, ourTags(request), () =>
          step('Reinstall', async (options) => {
            await checked(options);
            const ref = await provider.reinstallMachine(id, request, options);
            return requireRef(ref, 'reinstallMachine');
          }),
        );
      }),
    setPower: (id, want, call) =>
      run('Power', call, async (step) => {
        require('power');
        await looks.requireOurs(id, step);
        return step('Power', async (options) => {
          await checked(options);
          return requireRef(await provider.setPower!(id, want, options), 'setPower');
        });
      }),
    setTags: (id, tags, call) =>
      run('SetTags', call, async (step) => {
        require('tags');
        const all = { ...ourTags(await requireOurs(id, step)), ...tags };
        await written.during(id, all, () =>
          step('SetTags', async (options) => provider.setTags(id, all, options)),
        );
      }),
  };
}

/** @throws {ProviderError} `not-implemented`: the driver says that it cannot. */
export function requireCapability(
  capabilities: Capabilities,
  capability: keyof Capabilities,
): void {
  if (capabilities[capability]) return;
  throw new ProviderError('not-implemented', `the driver has not the capability ${capability}`);
}

/** False when what is looked at does not exist. */
async function stillThere(look: () => Promise<unknown>): Promise<boolean> {
  try {
    await look();
    return true;
  } catch (error) {
    if (isProviderError(error, 'not-found')) return false;
    throw error;
  }
}
