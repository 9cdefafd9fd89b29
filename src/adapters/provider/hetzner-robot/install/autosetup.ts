import type { Tags } from '../../../../domain/provisioning/provider-tags.ts';
import { shellWord } from './quote.ts';

/** One installation, with all that it needs to know. */
export interface Installation {
  readonly witness: string;
  readonly shortWitness: string;
  readonly hostname: string;
  /** A file in the folder of images, or an https URL. */
  readonly image: Image;
  /** All of them, or WWNs. */
  readonly drives: 'all' | readonly string[];
  /** Lines of installimage; null: the usual ones. */
  readonly layout: readonly string[] | null;
  /** OpenSSH line of the one key that lets in. */
  readonly publicKey: string;
  /** Script of the first boot. Secret. */
  readonly initCommand: string;
  readonly tags: Tags;
}
export type Image = { readonly file: string } | { readonly url: string };

/** Where the rescue system has it; the images lie beside its folder. */
export const INSTALLER = '/root/.oldroot/nfs/install/installimage';
const IMAGES = '/root/.oldroot/nfs/images';

/** Null: it is fetched. */
export const imagePath = (image: Image): string | null =>
  'file' in image ? `${IMAGES}/${image.file}` : null;

const PARTITIONS = ['PART /boot ext4 1G', 'PART / ext4 all'];

/**
 * Shell lines that add all but the drives to `/autosetup`. How many drives there are, and so whether
 * there is a RAID where nothing is said, is known only on the machine, in `$count`.
 */
export function autosetupTail({ hostname, image, layout }: Installation): string {
  const lines = layout ?? PARTITIONS;
  const raid = lines.filter((line) => /^SWRAID/i.test(line));
  const parts = lines.filter((line) => !/^SWRAID/i.test(line));
  const source = imagePath(image) ?? ('url' in image ? image.url : '');
  const usualRaid = `if [ "$count" -gt 1 ]; then
  printf 'SWRAID 1\\nSWRAIDLEVEL 1\\n' >> /autosetup
else
  printf 'SWRAID 0\\n' >> /autosetup
fi`;
  return [
    raid.length > 0 ? add(raid) : usualRaid,
    add([`HOSTNAME ${hostname}`, ...(parts.length > 0 ? parts : PARTITIONS), `IMAGE ${source}`]),
  ].join('\n');
}

const add = (lines: readonly string[]): string =>
  `printf '%s\\n' ${lines.map(shellWord).join(' ')} >> /autosetup`;
