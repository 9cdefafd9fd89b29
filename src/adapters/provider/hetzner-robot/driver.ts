import type { ApiObserver } from '../../http/api.ts';
import type { Driver, DriverContext } from '../port.ts';
import { createRobotClient } from './client/client.ts';
import { createCounts } from './counts.ts';
import { createRobotProvider } from './hetzner-robot-provider.ts';
import { nested, robotSchema, type RobotSettings } from './settings.ts';

/** Dedicated servers of an account at Hetzner Robot. */
export const hetznerRobotDriver: Driver<RobotSettings> = {
  name: 'hetzner-robot',
  settings: robotSchema,
  open(settings, context) {
    const { password, ...own } = settings;
    const { name, instanceSetId, records, clock, random, log, shell } = context;
    const { userAgent, network } = context;
    const daemons = () => context.daemons();
    const config = { ...own, name, instanceSetId };
    const counts = createCounts({
      ...{ id: random.uuid(), instanceSetId, records, clock, log, daemons },
      limits: own.limits,
    });
    const client = createRobotClient(
      {
        name,
        baseUrl: own.baseUrl,
        user: own.user,
        password: () => password.read(),
        limits: own.limits,
      },
      {
        counts,
        clock,
        random,
        log,
        userAgent,
        network,
        daemons,
        observer: observerOf(context),
        ...(context.waitsForTurn && { waitsForTurn: context.waitsForTurn }),
      },
    );
    const publicKey = () => context.publicKey;
    const previousKeys = () => context.previousKeys ?? [];
    const keys = { publicKey, previousKeys };
    return createRobotProvider(config, {
      ...{ client, shell, records, clock, random, log, daemons },
      ...keys,
    });
  },
  overlaps(one, other) {
    if (one.baseUrl !== other.baseUrl || areOfTwoAccounts(one, other)) return null;
    if (nested(one.namePrefix, other.namePrefix)) return 'namePrefix';
    const crossing =
      nested(one.freePrefix, other.freePrefix) ||
      nested(one.freePrefix, other.namePrefix) ||
      nested(one.namePrefix, other.freePrefix);
    return crossing ? 'freePrefix' : null;
  },
  givingBack:
    'the server boots into the rescue system, the signatures of all its drives are removed (unless wipe: ' +
    'none), and its name says that it is free; the server stays in the account, and is paid for',
};

/**
 * Two users may be of one account, and nothing in a user's name tells: only servers that are listed by their
 * numbers, which no two accounts share, are surely others.
 */
const areOfTwoAccounts = (one: RobotSettings, other: RobotSettings): boolean =>
  one.user !== other.user &&
  one.servers !== undefined &&
  other.servers !== undefined &&
  !one.servers.some((server) => other.servers!.includes(server));

/** Requests are counted as those of every adapter are. */
const observerOf = ({ metrics }: Pick<DriverContext, 'metrics'>): ApiObserver => ({
  attempt: (endpoint, status) =>
    metrics.count('shepherd_adapter_calls_total', {
      adapter: 'hetzner-robot',
      op: endpoint,
      code: status,
    }),
  slots: () => undefined,
  retry: () => undefined,
  paused: () => undefined,
  walk: () => undefined,
});
