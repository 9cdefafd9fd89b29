import { explain, isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { Clock } from '../../clock/port.ts';
import type { Call } from '../../driver-kit/call.ts';
import { bareKey, createKeptKey, isSameKey, ourKeyAmong } from '../../driver-kit/our-key.ts';
import { mutate } from '../../driver-kit/pages.ts';
import type { Log } from '../../log/port.ts';
import type { OperatingSystem, SshKey } from './api.ts';
import type { Routes } from './routes.ts';
import type { LatitudeConfig } from './settings.ts';

const SYSTEMS_BELIEVED_MS = 3_600_000;
const USER = /^[a-z_][a-z0-9_-]{0,31}$/;

/** Operating systems that the vendor installs. */
export function createSystems(deps: {
  readonly routes: Routes;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
}) {
  const { routes, clock, log } = deps;
  let known: { readonly systems: readonly OperatingSystem[]; readonly untilMs: number } | null =
    null;

  async function read(call: Call): Promise<readonly OperatingSystem[]> {
    const { items } = await routes.listOperatingSystems(call);
    known = { systems: items, untilMs: clock.monotonic() + SYSTEMS_BELIEVED_MS };
    return items;
  }

  /** Old data are used until they can be read again. */
  async function current(call: Call): Promise<readonly OperatingSystem[]> {
    if (known && clock.monotonic() < known.untilMs) return known.systems;
    const { systems: old } = known ?? {};
    try {
      return await read(call);
    } catch (error) {
      if (!old || isProviderError(error, 'aborted')) throw error;
      log.warn(
        { cause: explain(error) },
        'the operating systems could not be read; the old list stays in use',
      );
      return old;
    }
  }

  return {
    /** Login user by the system's slug. */
    async users(call: Call): Promise<(slug: string | undefined) => string> {
      const systems = await current(call);
      const users = new Map(systems.map(({ slug, user }) => [slug, user]));
      return (slug) => {
        const user = users.get(slug) ?? '';
        return USER.test(user) ? user : 'root';
      };
    },
    /** Current data of the vendor; null if unknown. */
    find: async (call: Call, slug: string): Promise<OperatingSystem | null> =>
      (await read(call)).find((system) => system.slug === slug) ?? null,
  };
}
export type Systems = ReturnType<typeof createSystems>;

/** Our key in the project. */
export function createOurSshKey(
  config: Pick<LatitudeConfig, 'sshKeyName' | 'publicKeyLine' | 'previousKeyLines'>,
  { routes, clock }: { readonly routes: Routes; readonly clock: Pick<Clock, 'monotonic'> },
) {
  /** The key with our name and value; else another copy, because the API replaces none. */
  async function find(call: Call, key: string): Promise<SshKey | null> {
    const { sshKeyName: name, previousKeyLines: previousKeys } = config;
    const { items, complete } = await routes.listSshKeys(call);
    const wanted = { name, nameSetting: 'sshKeyName', key, previousKeys };
    const isOurs = ({ public_key: line = '' }: SshKey) => isSameKey(line, key);
    const named = ourKeyAmong(
      items,
      wanted,
      ({ id, name: called = '', public_key: line = '' }) => ({
        ...{ id, name: called, key: line },
      }),
    );
    const found = named && isOurs(named) ? named : items.find(isOurs);
    if (found || complete) return found ?? null;
    throw call.error('transient', 'the listing may lack our SSH key');
  }

  return createKeptKey<Call>({
    clock,
    key: () => config.publicKeyLine,
    async store(call, key) {
      const there = await find(call, key);
      if (there) return there.id;
      const made = await mutate(call, {
        endpoint: 'CreateSshKey',
        // Without its comment, which may be private.
        send: () => routes.postSshKey(call, config.sshKeyName, bareKey(key)),
        look: async () => {
          const value = await find(call, key);
          return value && { value };
        },
        // Another daemon may have just stored it: a project accepts a key once.
        looksAfter: ({ answer }) => answer?.status === 422,
        repeatsMax: 2,
      });
      return made.id;
    },
  });
}
export type OurSshKey = ReturnType<typeof createOurSshKey>;

/** Checks whether creations are possible at all, and stores our key. Idempotent. */
export function createPreparation(
  config: LatitudeConfig,
  deps: { readonly routes: Routes; readonly systems: Systems; readonly sshKey: OurSshKey },
) {
  const { routes, systems, sshKey } = deps;
  const refuse = (message: string) => new ProviderError('invalid', message);

  async function requireProject(call: Call): Promise<void> {
    const { items, complete } = await routes.listProjects(call);
    const found = items.find(({ id }) => id === config.project);
    if (!found && !complete) throw call.error('transient', 'the listing may lack the project');
    if (!found) throw refuse(`the API key has no access to project ${config.project}`);
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
