import { ProviderError } from '../../../domain/errors.ts';
import type { Call } from '../../http/call.ts';
import type { Routes } from './client/routes.ts';
import type { LatitudeConfig } from './project-config.ts';
import type { OurSshKey } from './ssh-key.ts';
import type { Systems } from './systems.ts';

/** Looks whether machines could be made at all, and puts our key in place. Idempotent. */
export function createPreparation(
  config: LatitudeConfig,
  deps: { readonly routes: Routes; readonly systems: Systems; readonly sshKey: OurSshKey },
) {
  const { routes, systems, sshKey } = deps;
  const refuse = (message: string) => new ProviderError('invalid', message);

  async function requireProject(call: Call): Promise<void> {
    const { items, complete } = await routes.listProjects(call);
    const found = items.find(({ id }) => id === config.projectId);
    if (!found && !complete) throw call.error('PartialListing', 'the project may be missing');
    if (!found) throw refuse(`the key shows no project ${config.projectId}`);
    const wanted = config.billing === 'yearly' ? 'reserved' : 'on_demand';
    const { provisioning_type: type } = found;
    if (type === undefined || type === wanted) return;
    throw refuse(
      `billing ${config.billing} needs a project that is ${wanted}; this one is ${type}`,
    );
  }

  async function requireSystem(call: Call): Promise<void> {
    const system = await systems.find(call, config.os);
    if (!system) throw refuse(`there is no operating system ${config.os}`);
    const lacks = (['ssh_keys', 'user_data'] as const).filter(
      (each) => system.features?.[each] === false,
    );
    if (lacks.length === 0) return;
    throw refuse(`the operating system ${config.os} takes no ${lacks.join(' and no ')}`);
  }

  return async (call: Call, signal: AbortSignal): Promise<void> => {
    await requireProject(call);
    await requireSystem(call);
    await sshKey.ensure(call, signal);
  };
}
