import type { SFTPWrapper } from 'ssh2';

/** OpenSSH's rename that replaces its target (OpenSSH, PROTOCOL §4.3). */
export const posixRename = 'posix-rename@openssh.com';

/** The strings that an extended request carries, one after another. */
export function readStrings(data: Buffer): string[] {
  const strings: string[] = [];
  for (let at = 0; at + 4 <= data.length;) {
    const end = at + 4 + data.readUInt32BE(at);
    strings.push(data.toString('utf8', at + 4, end));
    at = end;
  }
  return strings;
}

const withLength = (bytes: Buffer) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};
const field = (text: string) => withLength(Buffer.from(text));
/** SSH_FXP_VERSION 3 that names the extension. */
const versionAnswer = () =>
  withLength(Buffer.concat([Buffer.from([2, 0, 0, 0, 3]), field(posixRename), field('1')]));

/** The part of ssh2's inside that sends the packets of a channel. */
interface Wire {
  channelData(channel: number, data: Buffer): void;
}

/**
 * ssh2's server answers INIT with a constant that offers no extension (SERVER_VERSION_BUFFER in its
 * SFTP.js), and clients use only what was offered. So the first packet it sends is replaced.
 */
export function offerPosixRename(sftp: SFTPWrapper): void {
  const inner = sftp as unknown as { _protocol: Wire };
  const wire = inner._protocol;
  const replacing = Object.create(wire) as Wire;
  replacing.channelData = (channel) => {
    inner._protocol = wire;
    wire.channelData(channel, versionAnswer());
  };
  inner._protocol = replacing;
}
