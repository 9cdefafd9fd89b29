import type { Witness } from '../../../domain/ids.ts';
import type { ProviderMachine } from '../../../domain/machine.ts';
import {
  PLAN_TAG,
  SECRET_TAG,
  SET_ID_TAG,
  TAG_PREFIX,
  type Tags,
  WITNESS_TAG,
} from '../../../domain/provisioning/provider-tags.ts';
import type { Random } from '../../clock/port.ts';
import type { ReinstallRequest } from '../port.ts';
import { hashOf, initCommand, newSecret, SECRET_DIGITS } from './instance-secret.ts';
import type { Scrubber } from './scrubbing.ts';

export interface FirstBootOptions {
  readonly instanceSetId: string;
  /** Put on everything that is made; tags of the machine itself win. */
  readonly sharedTags: Tags;
  /** Operating system of new machines; null: the driver's usual. */
  readonly image: string | null;
  /** The site's own lines of the first boot. */
  readonly initCommand: string;
  /** May change; new machines get what it is then. */
  readonly publicKey: string;
}

/** What the core has put on a new machine, and run on it at its first boot. */
export function createFirstBoot(
  options: FirstBootOptions,
  { keep, random }: Pick<Scrubber, 'keep'> & { readonly random: Random },
) {
  const { instanceSetId, sharedTags, image, initCommand: site } = options;
  // Too long a script is found out now, and not with the first machine.
  initCommand('0'.repeat(SECRET_DIGITS), site);

  /** With a secret of its own. */
  function boot(tags: Tags): ReinstallRequest {
    const secret = newSecret(random);
    const script = initCommand(secret, site);
    keep(site, secret, script);
    return {
      image,
      tags: { ...sharedTags, ...tags, [SECRET_TAG]: hashOf(secret) },
      initCommand: script,
      publicKey: options.publicKey,
    };
  }

  return {
    forCreation: (plan: string, witness: Witness) =>
      boot({ [SET_ID_TAG]: instanceSetId, [WITNESS_TAG]: witness, [PLAN_TAG]: plan }),
    forReinstallation: (machine: ProviderMachine) => boot(ourTags(machine)),
  };
}

/** The tags that are ours to write. */
export const ourTags = ({ tags }: Pick<ProviderMachine, 'tags'>): Tags =>
  Object.fromEntries(Object.entries(tags).filter(([key]) => key.startsWith(TAG_PREFIX)));
