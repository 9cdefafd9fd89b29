import { createHash } from 'node:crypto';
import { ProviderError } from '../../../../domain/errors.ts';
import { SECRET_TAG } from '../../../../domain/provisioning/provider-tags.ts';
import type { Claim, ClaimValue } from '../../redfish/install/claims.ts';
import type { InventoryEntry } from '../entries.ts';

/** The system that runs, if the key of the inventory is not its key: how it was told last. */
export type Known = NonNullable<ClaimValue['install']['self']>['before'];
export const knownOf = (claim: Claim | null): Known =>
  claim && { tags: claim.tags, listedKey: claim.install.self?.listedKey ?? null };

/** What proves a machine: its host key, or the SHA-256 of its secret. */
export type Identity = { readonly hostKey: string } | { readonly secretSha256: string };

/** Until the inventory has another key, its key is that of the system before. */
export const isRenewed = ({ hostKey }: InventoryEntry, claim: Claim | null): boolean =>
  claim !== null && claim.install.self?.listedKey === hostKey;

/** @throws {ProviderError} `invalid`: nothing would prove the machine before it is erased. */
export function identityOf({ id }: InventoryEntry, hostKey: string | null, known: Known): Identity {
  if (hostKey !== null && hostKey !== known?.listedKey) return { hostKey };
  const secretSha256 = known?.tags[SECRET_TAG];
  if (secretSha256 !== undefined) return { secretSha256 };
  throw new ProviderError('invalid', `${id} needs a HostKey, which proves it before it is erased`);
}

/** OpenSSH's form of a key in base64. */
export const fingerprintOf = (hostKey: string): string =>
  `SHA256:${createHash('sha256').update(Buffer.from(hostKey, 'base64')).digest('base64').replace(/=+$/, '')}`;
