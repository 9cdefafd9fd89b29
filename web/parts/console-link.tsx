import type { SessionLine } from '../api/resources.ts';

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** The address of a console; a link, unless it is one of a host that the reader does not sit at. */
export function ConsoleLink({ consoleUrl, isSelf }: Pick<SessionLine, 'consoleUrl' | 'isSelf'>) {
  const url = consoleUrl !== null && URL.canParse(consoleUrl) ? new URL(consoleUrl) : null;
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:';
  const isNear = url !== null && (!LOOPBACK.test(url.hostname) || LOOPBACK.test(location.hostname));
  if (url === null || !isWeb || !isNear || isSelf) {
    return <span className="mono">{consoleUrl}</span>;
  }
  return (
    <a href={url.href} className="mono" rel="noopener">
      {consoleUrl}
    </a>
  );
}
