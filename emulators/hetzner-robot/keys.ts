import ssh2 from 'ssh2';
import type { ApiAnswer, Route } from '../kit/api.ts';
import type { RobotCall } from './api.ts';
import { invalidInput, notFound, refusal } from './errors.ts';
import { textField } from './form.ts';
import { keyDetail, md5Of } from './views.ts';
import type { AccountKey } from './world.ts';

const FINGERPRINT = /^([0-9a-f]{2}:){15}[0-9a-f]{2}$/;

function list({ keys }: RobotCall): ApiAnswer {
  if (keys.size === 0) throw notFound('Keys');
  return { status: 200, body: [...keys.values()].map((key) => ({ key: keyDetail(key) })) };
}

/** @throws {ApiRefusal} 404. */
function keyOf({ keys, params }: RobotCall): AccountKey {
  const { fingerprint = '' } = params;
  const key = FINGERPRINT.test(fingerprint) ? keys.get(fingerprint) : undefined;
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

/** For RSA the length of the modulus, the last part of the wire form. */
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

/** @throws {ApiRefusal} 400: it is not a public key. */
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

function create({ keys, form, clock }: RobotCall): ApiAnswer {
  const missing = ['name', 'data'].filter((field) => !form.get(field));
  if (missing.length > 0) throw invalidInput({ missing });
  const key = readPublicKey(textField(form, 'name'), textField(form, 'data'), clock.now());
  if (keys.has(key.fingerprint)) {
    throw refusal(409, 'KEY_ALREADY_EXISTS', 'the supplied key already exists');
  }
  keys.set(key.fingerprint, key);
  return { status: 201, body: { key: keyDetail(key) } };
}

function remove(call: RobotCall): ApiAnswer {
  call.keys.delete(keyOf(call).fingerprint);
  return { status: 200 };
}

export const KEY_ROUTES: readonly Route<RobotCall>[] = [
  { method: 'GET', path: '/key', handle: list },
  { method: 'POST', path: '/key', handle: create },
  {
    method: 'GET',
    path: '/key/{fingerprint}',
    handle: (call) => ({ status: 200, body: { key: keyDetail(keyOf(call)) } }),
  },
  { method: 'DELETE', path: '/key/{fingerprint}', handle: remove },
];
