import { generateHostKey, publicBlobOf } from '../../../src/simulator/hosts/keys.ts';

/** A new public key, as a line of `authorized_keys`. */
export const createUserKeyLine = (): string =>
  `ssh-ed25519 ${publicBlobOf(generateHostKey()).toString('base64')}`;
