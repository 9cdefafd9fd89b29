import { createHash } from 'node:crypto';
import type { UploadFile } from '../../src/adapters/ssh/port.ts';

export const uploadOf = (content: Buffer, mode = 0o755): UploadFile => ({
  content,
  mode,
  sha256: createHash('sha256').update(content).digest('hex'),
});
