import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { dirname } from 'node:path';

/**
 * The fault of a file that only we should read; null: none. `open` has the mode bits that must not
 * be set; default: those of the group and of others.
 */
export function complaintAboutPrivacy(path: string, found: Stats, open = 0o077): string | null {
  if (!found.isFile()) return 'is not a regular file; write the value to a regular file';
  if (process.platform === 'win32') return null;
  if ((found.mode & open) !== 0) return `others may read; run chmod 600 ${path}`;
  if ([0, process.geteuid?.()].includes(found.uid)) return null;
  return `belongs to another user (uid ${found.uid}); run chown ${process.geteuid?.()} ${path}`;
}

/**
 * Why nothing can be stored in a directory, which would be created if missing; null: no obstacle.
 * Creates nothing.
 */
export function complaintAboutKeepingIn(directory: string): string | null {
  const found = statSync(directory, { throwIfNoEntry: false });
  if (!found && dirname(directory) !== directory) {
    return complaintAboutKeepingIn(dirname(directory));
  }
  if (!found?.isDirectory()) return `${directory} is not a directory; give another path`;
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
    return null;
  } catch {
    return `${directory} is not writable; let uid ${process.geteuid?.()} write there`;
  }
}

/**
 * Why another user may have written to a directory; null: nobody else could, or it is missing.
 * Changes nothing.
 */
export function complaintAboutStrangers(directory: string): string | null {
  const found = statSync(directory, { throwIfNoEntry: false });
  if (!found || process.platform === 'win32') return null;
  if (![0, process.geteuid?.()].includes(found.uid)) {
    return `${directory} belongs to another user (uid ${found.uid}); give one of your own`;
  }
  if ((found.mode & 0o022) === 0 || readdirSync(directory).length === 0) return null;
  return `other users may write to ${directory}, and it is not empty; empty it, or give another`;
}
