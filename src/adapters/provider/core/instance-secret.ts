import { createHash, randomBytes } from 'node:crypto';
import { UsageError } from '../../../domain/errors.ts';
import { INSTANCE_SECRET_PATH } from '../../../domain/provisioning/provider-tags.ts';

const SECRET_BYTES = 20;
/** What vendors take as user data is scarce. */
const SCRIPT_BYTES = 1023;

/** 40 hex digits. Only its hash is ever stored or shown. */
export const newSecret = (): string => randomBytes(SECRET_BYTES).toString('hex');

/** 64 hex digits; what a machine's tag holds. */
export const hashOf = (secret: string): string =>
  createHash('sha256').update(secret, 'utf8').digest('hex');

/**
 * First-boot script: leaves the secret where the host-key proof looks, then the site's own lines.
 * @throws {UsageError} it would not be below 1 KiB.
 */
export function initCommand(secret: string, site: string): string {
  const script = [
    '#!/bin/sh',
    'umask 0077',
    `mkdir -p ${INSTANCE_SECRET_PATH.slice(0, INSTANCE_SECRET_PATH.lastIndexOf('/'))}`,
    'umask 0177',
    `printf %s ${secret} > ${INSTANCE_SECRET_PATH}`,
    'umask 0022',
    site,
  ].join('\n');
  const excess = Buffer.byteLength(script) - SCRIPT_BYTES;
  if (excess <= 0) return script;
  throw new UsageError(`initCommand is ${excess} bytes too long; give less than that`);
}
