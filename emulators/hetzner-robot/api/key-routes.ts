import ssh2 from 'ssh2';
import type { Answer, Call, Route } from '../core.ts';
import type { AccountKey } from '../world.ts';
import { textField } from './form.ts';
import { invalidInput, notFound, RobotError } from './robot-error.ts';
import { keyDetail, md5Of } from './views.ts';

const FINGERPRINT = /^([0-9a-f]{2}:){15}[0-9a-f]{2}$/;

function list({ core }: Call): Answer {
  if (core.keys.size === 0) throw notFound('Keys');
  return { status: 200, body: [...core.keys.values()].map((key) => ({ key: keyDetail(key) })) };
}

/** @throws {RobotError} 404. */
function keyOf({ core, params }: Call): AccountKey {
  const { fingerprint = '' } = params;
  const key = FINGERPRINT.test(fingerprint) ? core.keys.get(fingerprint) : undefined;
  if (!key) throw notFound('Key');
  return key;
}

const TYPES: Readonly<Record<string, string>> = {
  'ssh-ed25519': 'ED25519',
  'ssh-rsa': 'RSA',
  'ecdsa-sha2-nistp256': 'ECDSA',
  'ecdsa-sha2-nistp384': 'ECDSA',
  'ecdsa-sha2-nistp521': 'ECDSA',
};
const MPINT_SIGN_BYTES = 1;

/** Of RSA the length of the modulus, the last part of the wire form. */
function sizeBitsOf(type: string, blob: Buffer): number {
  const named = /nistp(\d+)/.exec(type)?.[1];
  if (type !== 'ssh-rsa') return Number(named ?? 256);
  let at = 0;
  let lengthBytes = 0;
  for (let part = 0; part < 3; part++) {
    lengthBytes = blob.readUInt32BE(at);
    at += 4 + lengthBytes;
  }
  return (lengthBytes - MPINT_SIGN_BYTES) * 8;
}

/** @throws {RobotError} 400: it is no public key. */
function readPublicKey(name: string, text: string, createdMs: number): AccountKey {
  const parsed = ssh2.utils.parseKey(text.trim());
  if (parsed instanceof Error || parsed.isPrivateKey()) throw invalidInput({ invalid: ['data'] });
  const blob = parsed.getPublicSSH();
  const data = `${parsed.type} ${blob.toString('base64')}`;
  const type = TYPES[parsed.type];
  if (type === undefined) throw invalidInput({ invalid: ['data'] });
  const sizeBits = sizeBitsOf(parsed.type, blob);
  return { name, fingerprint: md5Of(blob), type, sizeBits, data, createdMs };
}

function create({ core, form }: Call): Answer {
  const missing = ['name', 'data'].filter((field) => !form.get(field));
  if (missing.length > 0) throw invalidInput({ missing });
  const key = readPublicKey(textField(form, 'name'), textField(form, 'data'), core.clock.now());
  if (core.keys.has(key.fingerprint)) {
    throw new RobotError(409, 'KEY_ALREADY_EXISTS', 'the supplied key already exists');
  }
  core.keys.set(key.fingerprint, key);
  return { status: 201, body: { key: keyDetail(key) } };
}

function remove(call: Call): Answer {
  call.core.keys.delete(keyOf(call).fingerprint);
  return { status: 200 };
}

export const KEY_ROUTES: readonly Route[] = [
  { path: '/key', GET: list, POST: create },
  {
    path: '/key/{fingerprint}',
    GET: (call) => ({ status: 200, body: { key: keyDetail(keyOf(call)) } }),
    DELETE: remove,
  },
];
