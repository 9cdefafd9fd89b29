import { stringify } from 'yaml';

/** Where the script of the first boot lies until it has run. */
export const SCRIPT_PATH = '/root/.shepherd-first-boot';

/** The rest of a cloud-config that does nothing. */
export const NOTHING_TO_RUN = '{}\n';

/**
 * The keys of a cloud-config that runs a script once, as root, and removes it. Nothing else, so that the
 * site's own lines of the script stay free to do what they want.
 */
export const cloudConfigOf = (script: string): string =>
  stringify(
    {
      write_files: [
        {
          path: SCRIPT_PATH,
          encoding: 'b64',
          owner: 'root:root',
          permissions: '0700',
          content: Buffer.from(script).toString('base64'),
        },
      ],
      runcmd: [
        ['/bin/sh', SCRIPT_PATH],
        ['rm', '-f', SCRIPT_PATH],
      ],
    },
    { lineWidth: 0 },
  );
