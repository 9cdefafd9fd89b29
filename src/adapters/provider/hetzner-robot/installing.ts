import { ProviderError } from '../../../domain/errors.ts';
import type { Tags } from '../../../domain/provisioning/provider-tags.ts';
import type { Claim } from './claims.ts';
import type { Sending } from './client/client.ts';
import type { Parts } from './deps.ts';
import type { Installation } from './install/autosetup.ts';
import { ALREADY_BEGUN, NO_IMAGE, NO_INSTALLER, startScript } from './install/scripts.ts';
import { shortWitness } from './names.ts';
import type { Arrival } from './rescue.ts';
import { isImageFile } from './settings.ts';
import { rescueKeyRule, ScriptFailed } from './systems.ts';

/** What a machine is to be told. */
export interface Order {
  readonly image: string | null;
  readonly tags: Tags;
  /** Secret. */
  readonly initCommand: string;
  readonly publicKey: string;
}

/**
 * Starts the installation in the rescue system, once: where it was begun already, its tags are those of
 * the machine. Resolves with the claim in the phase `installing`.
 * @throws {ProviderError} `invalid`: there is no installer, or no such image.
 */
export type Install = (arrival: Arrival, order: Order, how: Sending) => Promise<Claim>;

export function createInstall(parts: Parts): Install {
  const { config, claims, systems, clock } = parts;

  const installationOf = (claim: Claim, order: Order): Installation => ({
    witness: claim.witness,
    shortWitness: shortWitness(claim.witness),
    hostname: claim.hostname,
    image: imageOf(order.image, claim.server),
    drives: config.drives === 'all' ? 'all' : (config.drives[String(claim.server)] ?? 'all'),
    layout: config.layout ?? null,
    publicKey: order.publicKey,
    initCommand: order.initCommand,
    tags: order.tags,
  });

  const installing = (claim: Claim, tags: Tags, how: Sending) =>
    claims.change(claim, { phase: 'installing', tags, sinceMs: clock.now() }, how);

  /** What was begun in the rescue system, or came of it; null: nothing. */
  function begunIn({ seen }: Arrival['answer']): Tags | null {
    if (seen.guard) return seen.guard.tags;
    return seen.installed?.tags ?? null;
  }

  /** The command may have run though nobody heard of it. */
  async function lookAgain({ claim, address }: Arrival, cause: unknown, how: Sending) {
    const answer = await systems.look(address, claim.witness, rescueKeyRule(claim), how.signal);
    const tags = answer.kind === 'rescue' ? answer.seen.guard?.tags : undefined;
    if (tags) return tags;
    throw new ProviderError('transient', 'an installation may have been begun', {
      cause,
      outcome: 'unknown',
    });
  }

  return async ({ claim, address, answer }, order, how) => {
    const begun = answer.kind === 'system' || answer.seen.guard ? begunIn(answer) : null;
    if (begun) return installing(claim, begun, how);
    const noted = await claims.change(claim, { startedAtMs: clock.now() }, how);
    const script = startScript(installationOf(noted, order));
    try {
      await systems.run(address, answer, script, how.signal);
    } catch (error) {
      if (error instanceof ScriptFailed && error.exitCode !== ALREADY_BEGUN) {
        throw refusalOf(error, claim.server);
      }
      if (how.signal.aborted) throw error;
      return installing(noted, await lookAgain({ claim: noted, address, answer }, error, how), how);
    }
    return installing(noted, order.tags, how);
  };

  function imageOf(image: string | null, server: number): Installation['image'] {
    if (image !== null && isImageFile(image)) return { file: image };
    if (image === null && config.imageUrl !== undefined) return { url: config.imageUrl };
    throw new ProviderError('invalid', `server ${server} cannot be installed: no image is named`);
  }
}

/** Of what the script wrote only the names of files that are there. */
function refusalOf(error: ScriptFailed, server: number): ProviderError {
  const isNamed = error.exitCode === NO_INSTALLER || error.exitCode === NO_IMAGE;
  if (!isNamed) {
    const what = `the installation of server ${server} was not started: status ${error.exitCode}`;
    return new ProviderError('transient', what, { outcome: 'unknown' });
  }
  const told = error.stderr.replace(/\s+/g, ' ').slice(0, 1_000);
  return new ProviderError('invalid', `server ${server} cannot be installed: ${told.trim()}`);
}
