import { createHash } from 'node:crypto';

/** Kind and base64 blob of an OpenSSH line; comment and white space are not part of a key. */
export const bareKey = (line: string): string => line.trim().split(/\s+/).slice(0, 2).join(' ');

/** Whether two OpenSSH lines hold the same key. */
export const isSameKey = (one: string, other: string): boolean => bareKey(one) === bareKey(other);

/** Fingerprint of the key in an OpenSSH line, as `ssh-keygen -l` prints it. */
export function fingerprintOfLine(line: string): string {
  const blob = Buffer.from(bareKey(line).split(' ')[1] ?? '', 'base64');
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;
}

/** What a person can do about a key at a vendor that has the name of ours and is not known as ours. */
export const unknownKeyAdvice = (nameSetting: string): string =>
  `it may belong to somebody else and is left alone; if it is an earlier key of ours, list its file in ` +
  `ssh.previousKeyPaths and send SIGHUP; otherwise choose another ${nameSetting}`;
