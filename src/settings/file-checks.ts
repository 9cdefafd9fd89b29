import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { dirname } from 'node:path';

/**
 * What is wrong with a file that only we should read; null: nothing. `open` are the bits of the mode
 * that must not be set: those of the group and of all others, when absent.
 */
export function complaintAboutPrivacy(path: string, found: Stats, open = 0o077): string | null {
  if (!found.isFile()) return 'is not a regular file; write the value to one';
  if (process.platform === 'win32') return null;
  if ((found.mode & open) !== 0) return `others may read; run chmod 600 ${path}`;
  if ([0, process.geteuid?.()].includes(found.uid)) return null;
  return `belongs to another user (uid ${found.uid}); run chown ${process.geteuid?.()} ${path}`;
}

/**
 * Why nothing can be kept in a directory, which is made if it is not there; null: something can.
 * Only looks: makes nothing.
 */
export function complaintAboutKeepingIn(directory: string): string | null {
  const found = statSync(directory, { throwIfNoEntry: false });
  if (!found && dirname(directory) !== directory) {
    return complaintAboutKeepingIn(dirname(directory));
  }
  if (!found?.isDirectory()) return `${directory} is no directory; give another path`;
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
    return null;
  } catch {
    return `nothing can be written to ${directory}; let uid ${process.geteuid?.()} write there`;
  }
}

/**
 * Why another user may have decided what lies in a directory; null: nobody else could, or nothing is
 * there. Only looks.
 */
export function complaintAboutStrangers(directory: string): string | null {
  const found = statSync(directory, { throwIfNoEntry: false });
  if (!found || process.platform === 'win32') return null;
  if (![0, process.geteuid?.()].includes(found.uid)) {
    return `${directory} belongs to another user (uid ${found.uid}); give one of your own`;
  }
  if ((found.mode & 0o022) === 0 || readdirSync(directory).length === 0) return null;
  return `others may write to ${directory}, and something is in it; empty it, or give another`;
}
