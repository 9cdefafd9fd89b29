import type { Driver } from '../port.ts';
import { configOf } from './project-config.ts';
import { createLatitudeProvider } from './latitude-provider.ts';
import { latitudeSchema, type LatitudeSettings } from './settings.ts';

/** Bare metal on demand, or reserved, of one project at Latitude.sh. */
export const latitudeDriver: Driver<LatitudeSettings> = {
  name: 'latitude',
  settings: latitudeSchema,
  open(settings, context) {
    const { name, instanceSetId, log } = context;
    if (settings.billing === 'monthly') {
      log.warn(
        { provider: name },
        'new machines are paid monthly in advance, and deleting one refunds nothing',
      );
    }
    const config = configOf(settings, {
      ...{ name, instanceSetId },
      publicKey: () => context.publicKey,
      previousKeys: () => context.previousKeys ?? [],
    });
    const { clock, random, userAgent, network, daemons, waitsForTurn } = context;
    return createLatitudeProvider(config, {
      ...{ clock, random, log, userAgent, network, daemons },
      ...(waitsForTurn && { waitsForTurn }),
    });
  },
  overlaps(one, other) {
    if (one.project === other.project && nested(one.namePrefix, other.namePrefix))
      return 'namePrefix';
    // The vendor counts the requests of a key, and each provider keeps to a budget of its own.
    const isOneKey = one.baseUrl === other.baseUrl && one.token.read() === other.token.read();
    return isOneKey ? 'token' : null;
  },
  givingBack:
    'the server is deleted, with everything on its disks; with onDeprovision: schedule it is switched ' +
    'off, and deleted at the end of its billing cycle',
};

const nested = (one: string, other: string): boolean =>
  one.startsWith(other) || other.startsWith(one);
