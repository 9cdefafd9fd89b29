import { stringify } from 'yaml';
import { withToken } from './token.ts';

/** What an installer is to put on the machine. Holds a secret. */
export interface Seed {
  /** Another one for each installation. */
  readonly instanceId: string;
  readonly hostname: string;
  /** OpenSSH line. */
  readonly publicKey: string;
  readonly initCommand: string;
  readonly os: string;
}

export const seedPath = (token: string): string => `/s/${token}/`;

/** In the form of NoCloud, as cloud-init reads it. A system that runs it reports by itself. */
export function userDataOf(seed: Seed, seedUrl: string, token: string): string {
  const config = {
    hostname: seed.hostname,
    preserve_hostname: false,
    disable_root: false,
    ssh_authorized_keys: [seed.publicKey],
    runcmd: [seed.initCommand],
    phone_home: { url: `${seedUrl}${seedPath(token)}done`, post: ['hostname'], tries: 10 },
  };
  return `#cloud-config\n${stringify(config, { lineWidth: 0 })}`;
}

export const metaDataOf = ({ instanceId, hostname, os }: Seed): string =>
  stringify({ 'instance-id': instanceId, 'local-hostname': hostname, os });

/** Leads on to the site's own boot, which knows by `shepherd-seed` where the seed is. */
export function ipxeOf(seedUrl: string, token: string, bootUri: string | undefined): string {
  const next = bootUri === undefined ? 'exit' : `chain ${withToken(bootUri, token)}`;
  return ['#!ipxe', `set shepherd-seed ${seedUrl}${seedPath(token)}`, next, ''].join('\n');
}
