import { generateKeyPairSync } from 'node:crypto';
import ssh2 from 'ssh2';
import { encodeOpensshKey, publicBlob } from '../../../../src/adapters/ssh/openssh-key.ts';

/** A key that may log in, and its `authorized_keys` line. */
export interface Login {
  readonly privateKey: string;
  readonly publicKey: string;
}

export function newLogin(): Login {
  const jwk = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const [seed, half] = [jwk.d!, jwk.x!].map((text) => Buffer.from(text, 'base64url'));
  return {
    privateKey: encodeOpensshKey(seed!, half!),
    publicKey: `ssh-ed25519 ${publicBlob(half!).toString('base64')} test`,
  };
}

export interface Ssh {
  readonly hostKey: Buffer;
  /** Rejects when the connection breaks before the command ends. */
  run(command: string): Promise<{ code: number; stdout: string }>;
  /** What came before the command ended or the connection broke. */
  runUnfinished(command: string): Promise<string>;
  close(): void;
}

/** Logs in as root. Rejects when nobody is let in, or the connection breaks. */
export async function sshTo(address: string, { privateKey }: Login): Promise<Ssh> {
  const [host, port] = address.split(':');
  const client = new ssh2.Client();
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);
  client.on('error', broken.reject);
  client.on('close', () => broken.reject(new Error('the connection broke')));
  let hostKey: Buffer = Buffer.alloc(0);
  const ready = new Promise<void>((resolve) => client.on('ready', resolve));
  client.connect({
    host: host!,
    port: Number(port),
    username: 'root',
    privateKey,
    hostVerifier: (key: Buffer) => {
      hostKey = key;
      return true;
    },
  });
  await Promise.race([ready, broken.promise]);

  async function exec(command: string, onOutput: (text: string) => void): Promise<number> {
    const ended = new Promise<number>((resolve, reject) => {
      client.exec(command, (error, channel) => {
        if (error) return reject(error);
        channel.on('data', (data: Buffer) => onOutput(data.toString()));
        channel.on('exit', (code: number) => channel.on('close', () => resolve(code)));
      });
    });
    return Promise.race([ended, broken.promise]);
  }

  return {
    hostKey,
    async run(command) {
      let stdout = '';
      const code = await exec(command, (text) => {
        stdout += text;
      });
      return { code, stdout };
    },
    async runUnfinished(command) {
      let stdout = '';
      await exec(command, (text) => {
        stdout += text;
      }).catch(() => undefined);
      return stdout;
    },
    close: () => void client.destroy(),
  };
}
