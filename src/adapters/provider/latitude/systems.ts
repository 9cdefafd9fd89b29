import { explain } from '../../../domain/errors.ts';
import type { Clock } from '../../clock/port.ts';
import type { Call } from '../../http/call.ts';
import { isApiError } from '../../http/errors.ts';
import type { Log } from '../../log/port.ts';
import type { Routes } from './client/routes.ts';
import type { OperatingSystem } from './client/schema.ts';

/** The operating systems that the vendor installs. */
export interface Systems {
  /** Whom to log in as, by the slug of the system. */
  users(call: Call): Promise<(slug: string | undefined) => string>;
  /** As the vendor knows it now; null: it does not. */
  find(call: Call, slug: string): Promise<OperatingSystem | null>;
}

const BELIEVED_MS = 3_600_000;
const USER = /^[a-z_][a-z0-9_-]{0,31}$/;

export function createSystems(deps: {
  readonly routes: Routes;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
}): Systems {
  const { routes, clock, log } = deps;
  let known: { readonly systems: readonly OperatingSystem[]; readonly untilMs: number } | null =
    null;

  async function read(call: Call): Promise<readonly OperatingSystem[]> {
    const { items } = await routes.listOperatingSystems(call);
    known = { systems: items, untilMs: clock.monotonic() + BELIEVED_MS };
    return items;
  }

  /** What was known before serves until it can be read again. */
  async function current(call: Call): Promise<readonly OperatingSystem[]> {
    if (known && clock.monotonic() < known.untilMs) return known.systems;
    const { systems: old } = known ?? {};
    try {
      return await read(call);
    } catch (error) {
      if (!old || isApiError(error, 'Cancelled')) throw error;
      log.warn({ cause: explain(error) }, 'the operating systems could not be read again');
      return old;
    }
  }

  return {
    async users(call) {
      const systems = await current(call);
      const users = new Map(systems.map(({ slug, user }) => [slug, user]));
      return (slug) => {
        const user = users.get(slug) ?? '';
        return USER.test(user) ? user : 'root';
      };
    },
    find: async (call, slug) => (await read(call)).find((system) => system.slug === slug) ?? null,
  };
}
