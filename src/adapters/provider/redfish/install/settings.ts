import { z } from 'zod';
import * as leaf from '../../../../settings/leaves.ts';
import type { Surroundings } from '../../../../settings/secret.ts';
import { SEED_KEY_LENGTH_MIN } from './sealing.ts';

export const METHODS = ['vmedia', 'uefihttp', 'pxe'] as const;
export type Method = (typeof METHODS)[number];

/** Some BMCs refuse addresses with these. */
const PLAIN = /^https?:\/\/[^\s?#@&]+$/;
const address = (meaning: string) =>
  leaf.text(meaning, { matches: PLAIN, type: 'an http or https URL without credentials, ? and &' });

/** How machines are installed. With this section a rack has free machines; without it, only used ones. */
export const installSettings = (around: Surroundings) =>
  z
    .strictObject({
      method: leaf.choice(
        METHODS,
        'How a machine gets its installer: from a virtual CD, by UEFI HTTP boot, or from the network.',
      ),
      iso: address(
        'The virtual CD of `vmedia`; `{token}` stands for the token of the installation.',
      ).optional(),
      bootUri: address(
        'What `uefihttp` boots, and what the iPXE script chains to; `{token}` stands for the token.',
      ).optional(),
      seedListen: leaf.listen('Where installers get their seed, on the provisioning network.'),
      seedUrl: leaf
        .url('The same as installers reach it; `seedListen` itself when absent.')
        .optional(),
      seedKey: leaf.secret(
        `Seals the seeds in the database; at least ${SEED_KEY_LENGTH_MIN} characters, the same for all daemons.`,
        around,
      ),
      window: leaf
        .duration('How long an installation may take, from the power-on.', 1_000)
        .prefault('45m'),
      os: leaf.text('Name of what the installer installs, shown to it.').prefault('default'),
    })
    .superRefine(({ method, iso, bootUri, seedKey }, context) => {
      if (seedKey.read().length < SEED_KEY_LENGTH_MIN) {
        const message =
          `is shorter than ${SEED_KEY_LENGTH_MIN} characters and could be guessed; make one with ` +
          'openssl rand -base64 32';
        context.addIssue({ code: 'custom', path: ['seedKey'], message });
      }
      const lack = method === 'vmedia' && iso === undefined ? 'iso' : null;
      const other = method === 'uefihttp' && bootUri === undefined ? 'bootUri' : null;
      const missing = lack ?? other;
      if (missing === null) return;
      const message = `is missing; ${method} needs it`;
      context.addIssue({ code: 'custom', path: [missing], message });
    });
export type InstallSettings = z.output<ReturnType<typeof installSettings>>;
