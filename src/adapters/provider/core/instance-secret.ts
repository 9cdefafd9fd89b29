import { createHash } from 'node:crypto';
import { UsageError } from '../../../domain/errors.ts';
import { INSTANCE_SECRET_PATH } from '../../../domain/provisioning/provider-tags.ts';
import type { Random } from '../../clock/port.ts';

export const SECRET_DIGITS = 40;
/** What vendors take as user data is scarce. */
const SCRIPT_BYTES = 1023;

/** 40 hex digits: two UUIDs that nobody can guess have more chance in them than that. */
export const newSecret = ({ uuid }: Pick<Random, 'uuid'>): string =>
  hashOf(`${uuid()} ${uuid()}`).slice(0, SECRET_DIGITS);

/** 64 hex digits; what a machine's tag holds. Of a secret only this is ever stored or shown. */
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
