import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createFiles } from '../../../emulators/hetzner-robot/shell/files.ts';
import {
  asBytes,
  type Host,
  textInput,
  textToBytes,
} from '../../../emulators/hetzner-robot/shell/process.ts';
import { runScript } from '../../../emulators/hetzner-robot/shell/run.ts';
import { newShell } from '../../../emulators/hetzner-robot/shell/state.ts';
import { testRows } from '../../support/rows.ts';

/** A machine with nothing on it. */
function bareHost(): Host {
  const files = createFiles();
  for (const path of ['/root', '/tmp', '/dev']) files.makeDirectory(path);
  files.put('/dev/null', { kind: 'device', mode: 0o666 });
  return {
    files,
    signal: new AbortController().signal,
    hostname: () => 'rescue',
    setHostname: () => undefined,
    now: () => 0,
    sleep: async () => undefined,
    apart: (work) => work,
    programs: {},
    background: (work) => void work,
  };
}

async function played(script: string, stdin = '') {
  let stdout = '';
  let stderr = '';
  const status = await runScript(asBytes(script), newShell(bareHost(), { directory: '/tmp' }), {
    input: textInput(stdin),
    output: (text) => void (stdout += text),
    errors: (text) => void (stderr += text),
  });
  return { stdout: textToBytes(stdout).toString('utf8'), stderr, status };
}

/** What Debian's own shell says, in an empty directory. */
function real(script: string, stdin = '') {
  const cwd = mkdtempSync(join(tmpdir(), 'fakerobot-shell-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const wrapped = `(\n${script}\n)\nprintf 'status %s' $?`;
  const env = { PATH: process.env['PATH'], LC_ALL: 'C', HOME: '/root' };
  const said = execFileSync('sh', ['-c', wrapped], {
    cwd,
    input: stdin,
    env,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const at = said.lastIndexOf('status ');
  return { stdout: said.slice(0, at), status: Number(said.slice(at + 'status '.length)) };
}

/** Each line or group of lines is a script that both run. */
const SCRIPTS = `
echo one  'two  three' "four  $((1 + 2 * 3))" \\$five
x=a; echo "$x" '$x' \${x}b "\${y:-none}" "\${x:+some}" \${#x}
f=/a/b/c.tar.gz; echo \${f##*/} \${f%.*} \${f%%.*} \${f#*/} "\${f##*/}"
set -- 'a b' c; for each in "$@"; do echo "<$each>"; done; echo $# "$*"
for n in 1 2 3; do [ $n -eq 2 ] && continue; echo $n; done; echo $?
if false; then echo a; elif true; then echo b; else echo c; fi
n=0; while [ "$n" -lt 3 ]; do n=$((n + 1)); echo $n; done; until false; do break; done
case sda1 in nvme* | sd*) echo disk ;; *) echo other ;; esac
case x in a) echo a ;; esac; echo $?
f() { local v=$1; echo "f $v $#"; return 3; }; f a b; echo $?
(x=1; exit 4); echo $? "\${x-unset}"
{ echo a; echo b; } | { read first; echo "$first"; cat; }
printf '%s-%s\\n' a b c; printf '%03d|%5s|%-5s|\\n' 7 ab cd; printf 'x\\ty\\n'
echo a > f; echo b >> f; cat < f; wc -l < f | tr -d ' '
cat <<END
value $((2 + 3)) \\$x \`echo inner\`
END
cat <<'END'
value $x
END
set -e; false || true; if false; then :; fi; ! true; echo still; false; echo never
set -u; echo "\${nothing:-ok}"; echo $nothing; echo never
trap 'echo bye' EXIT; echo here; exit 5
x=$(printf 'a\\n\\n'); echo "<$x>"; y=$(exit 7); echo $?
true && echo yes || echo no; false && echo yes || echo no
mkdir d; mkdir d 2>/dev/null || echo there; ls d; rmdir d; ls d 2>/dev/null || echo gone
touch b a; echo "*" '[ab]' \\*; x='*'; echo "$x" $x; case "*" in "?") echo no ;; \\*) echo star ;; esac
touch b a c; echo *; echo [ab]; echo z*; for each in ?; do echo $each; done
printf 'b 2\\na 1\\nc 3\\n' | sort | cut -d ' ' -f 2
printf 'one\\ntwo\\nthree\\n' | grep -c t; printf 'one\\n' | grep -q two; echo $?
printf 'a1\\nb2\\n' | sed -n 's/^\\([a-z]\\)\\([0-9]\\)$/\\2\\1/p'; echo abc | sed 's/b/[&]/; s/a//'
printf '1\\n2\\n3\\n4\\n' | head -n 2; printf '1\\n2\\n3\\n' | tail -n 1; printf '1\\n2\\n3\\n' | tail -n +2
printf 'secret here\\nplain\\nalso word\\n' > l; printf 'secret\\nword\\n' > h; grep -vF -f h l
a='x y'; set -- $a; echo $#; set -- "$a"; echo $#; IFS=:; set -- 1:2:3; echo $#; b=1:2:3; set -- $b; echo $#
while read -r k v; do echo "$v=$k"; done <<END
one 1
two 2 and more
END
echo "a
b" | while read line; do echo "[$line]"; done
command -v echo > /dev/null && echo known; command -v nowhere > /dev/null || echo unknown
nowhere 2> /dev/null; echo $?; ./nothing 2> /dev/null; echo $?
sh -c 'echo "$0 $1 $#"; exit 6' name arg; echo $?
echo 'echo "in $1"; exit 2' > s.sh; sh s.sh here; echo $?; chmod +x s.sh; ./s.sh there
printf abc | sha256sum | cut -c 1-16; printf abc | md5sum | cut -d ' ' -f 1; printf abc | base64
basename /a/b.c .c; dirname /a/b.c; dirname a; seq 3; printf 'a b\\n' | xargs -n 1 echo x
umask 077; touch p; stat -c %a p; umask 022; mkdir q; stat -c %a q; chmod 640 p; stat -c %a p
echo x | tee t; cat t; cp t u; mv u v; ls; [ -f v ] && [ ! -e u ] && [ -s v ] && echo files
ln -s target l; readlink l; [ -L l ] && echo link; [ -e l ] || echo dangling
exec > out; echo quiet; exec 2>&1; nowhere; [ -s out ]; exit $?
[ a = a -a b != c ] && echo both; [ -z "" ] && [ -n x ] && [ 3 -gt 2 ]; echo $?
x=5; x=$((x * 2 - 1)); echo $x $((x % 4)) $((x > 3 ? 1 : 0)) $(( (1 + 1) * 3 ))
sleep 0 & wait; echo done; (sleep 0; echo later) & wait $!; echo $?
echo ü | wc -c; echo 'ä ö'; x=é; echo "\${x}"
echo "a\\"b" 'c'"d"e \\\\ "\\\\" # a comment
a() { echo first; }; a; a() { echo second; }; a; unset -f a
set -- a b; shift; echo $1; eval 'echo "eval $((1+1))"'
for each in /nowhere/shepherd-*; do [ -d "$each" ] || echo "none: \${each##*/}"; done
`;

/** A script ends where the next one begins: at a line, unless a here-document is open. */
function scriptsOf(text: string): string[] {
  const scripts: string[] = [];
  let end: string | null = null;
  let isQuoted = false;
  for (const line of text.trim().split('\n')) {
    const continues = end !== null || isQuoted;
    if (continues) scripts.push(`${scripts.pop()}\n${line}`);
    else scripts.push(line);
    if (end === line) end = null;
    else if (end === null && !isQuoted) end = /<<'?(\w+)/.exec(line)?.[1] ?? null;
    if (line.startsWith('echo "a') && !line.includes('\\')) isQuoted = true;
    else if (isQuoted) isQuoted = false;
  }
  return scripts;
}

testRows(scriptsOf(SCRIPTS))('as a real shell does: %s', async (script) => {
  const { stdout, stderr, status } = await played(script);
  expect({ stdout, status }, stderr).toEqual(real(script));
});

test('input is read line by line, and what is left is for the next one', async () => {
  const script = 'read a; read b; echo "$b$a"; cat';
  const { stdout, status } = await played(script, '1\n2\n3\n4\n');
  expect({ stdout, status }).toEqual(real(script, '1\n2\n3\n4\n'));
});

testRows(['if true', 'echo "a', '(echo', 'case a in', 'echo a >', 'fi', 'echo `a', '; ;'])(
  'a script that no shell understands is said to be one: %s',
  async (script) => {
    const { status, stderr } = await played(script);
    expect(status).toBe(2);
    expect(stderr).toMatch(/^sh: ./);
  },
);

test('nothing of it reaches this computer', async () => {
  const { stdout } = await played(`cat /etc/passwd; ls /; cd /; echo *; /bin/ls /etc; $PATH`);
  expect(stdout).toBe('dev\nroot\ntmp\ndev root tmp\n');
});
