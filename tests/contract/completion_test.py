# SPDX-License-Identifier: BSD-2-Clause
"""Completions that shells offer at the cursor: from the tree of options, driven in the shells themselves."""
import os
import pty
import re
import select
import shutil
import subprocess
import tempfile
import unittest

import contract
from contract import Children, rsslag

SCRIPTS = contract.ROOT / 'share' / 'completions'


def needs(program):
    return unittest.skipUnless(shutil.which(program), f'there is no {program}')


def offered(*words):
    """Which other kind of word the shell completes, and the offered words with their descriptions."""
    ran = rsslag('completion', '--', *words)
    if (ran.status, ran.err) != (0, ''):
        raise AssertionError(ran)
    also, *lines = ran.lines
    return also, dict(line.partition('\t')[::2] for line in lines)


def commands():
    return list(offered('')[1].keys() & set(re.findall(r'(?m)^  (\w+) ', rsslag('--help').out.split('Subcommands:')[1])))


class Named:
    """A process with a unique name."""

    def __init__(self, name):
        self.directory = tempfile.TemporaryDirectory()
        path = f'{self.directory.name}/{name}'
        shutil.copy(shutil.which('sleep'), path)
        self.process = subprocess.Popen([path, '600'])
        self.pid = str(self.process.pid)
        contract.wait_until(lambda: open(f'/proc/{self.pid}/comm', encoding='utf-8').read() == f'{name}\n')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.directory.cleanup()


class Offered(unittest.TestCase):
    def test_commands_and_processes_come_first(self):
        with Named('aim') as aim:
            also, words = offered('')
            self.assertEqual(also, 'none')
            self.assertEqual(words[aim.pid], 'aim')
        self.assertTrue({'live', 'snapshot', 'demo', 'umount'} <= set(words))
        self.assertNotIn('completion', words)
        self.assertNotIn('2', [word for word, about in words.items() if about == 'kthreadd'])

    def test_options_of_a_command_and_of_all(self):
        also, words = offered('live', '--m')
        self.assertEqual((also, set(words)), ('none', {'--mode', '--max-size', '--memory'}))
        self.assertIn('counts', words['--mode'])
        self.assertEqual(set(offered('live', '--uni')[1]), {'--unit'})
        self.assertEqual(set(offered('--unit', 'MiB', 'live', '--mod')[1]), {'--mode'})
        self.assertEqual(set(offered('4711', '--mod')[1]), {'--mode'})
        self.assertNotIn('--parent', offered('demo', '--')[1])

    def test_values(self):
        for words, expected in ((('live', '--mode', ''), {'events', 'counts'}),
                                (('live', '--mode=c'), {'--mode=counts'}),
                                (('live', '--threads', ''), {'all', 'changed', 'top:', 'none'}),
                                (('--unit', 'M'), {'MiB'}),
                                (('completion', ''), {'bash', 'fish', 'zsh'}),
                                (('demo', '--threads', ''), set()),
                                (('live', '--interval', ''), set()),
                                (('export', '--format', 's'), {'speedscope', 'sqlite'}),
                                (('maps', '--columns', 'Rss,Priv'),
                                 {'Rss,Private_Clean', 'Rss,Private_Dirty', 'Rss,Private_Hugetlb'}),
                                (('maps', '--sort', 'a'), {'address'}),
                                (('report', '--assert', 'peak_'), {'peak_rss', 'peak_lag', 'peak_cached'}),
                                (('maps', '1', '--assert', 'lazy'), {'lazy_free'})):
            self.assertEqual(offered(*words), ('none', dict.fromkeys(expected, '')), words)

    def test_workloads(self):
        shown = dict(line.split(None, 1) for line in rsslag('demo', '--list').lines)
        self.assertEqual(offered('demo', ''), ('none', shown))

    def test_what_the_shell_knows_better(self):
        for words, also in ((('replay', ''), 'files'), (('live', '--record', 'x'), 'files'), (('-v', '--log-file', ''), 'files'),
                            (('mount', ''), 'directories'), (('live', '--cgroup', ''), 'directories'), (('mem', '-u', ''), 'users'),
                            (('mount', '--group', ''), 'groups'), (('live', '--', 'red'), 'command'), (('--', 'ls', '-'), 'command'),
                            (('replay', 'file', ''), 'none')):
            self.assertEqual(offered(*words), (also, {}), words)

    def test_processes_by_number_and_name(self):
        with Named('aim') as aim, Named('aim:2') as other:
            self.assertEqual(offered('live', aim.pid)[1][aim.pid], 'aim')
            self.assertEqual(offered('maps', aim.pid, other.pid)[1][other.pid], 'aim:2')
            self.assertEqual(offered('live', '-p', f'1,{aim.pid}')[1][f'1,{aim.pid}'], 'aim')
            self.assertEqual(offered('live', '--comm', 'aim'), ('none', {'aim': '', 'aim:2': ''}))
            for words in (('live', 'aim'), ('aim',), ('maps', '1', 'aim')):
                self.assertEqual(offered(*words), ('none', {'aim': '', 'aim:2': ''}), words)
            self.assertNotIn('aim', offered('')[1])

    def test_no_empty_name(self):
        with Children((b'',)):
            self.assertNotIn('', offered('live', '--comm', '')[1])

    def test_a_hostile_name_is_harmless(self):
        with Named('\x1b[31m\u202e') as hostile:
            self.assertEqual(offered('live', hostile.pid)[1][hostile.pid], '\\x1b[31m\\xe2\\x80\\xae')
            self.assertFalse([name for name in offered('live', '--comm', '')[1] if '31m' in name])

    def test_every_value_has_a_name(self):
        for command in commands():
            self.assertNotRegex(rsslag(command, '--help').out, r'(?m)^ +-.* (TEXT|U?INT|FLOAT)(:| |=|$)', command)

    def test_a_script_for_each_shell(self):
        for shell in ('bash', 'zsh', 'fish'):
            self.assertEqual(rsslag('completion', shell).out, (SCRIPTS / f'rsslag.{shell}').read_text())
        for words in ((), ('tcsh',)):
            ran = rsslag('completion', *words)
            self.assertEqual((ran.status, ran.out), (2, ''))
            self.assertIn('bash, zsh or fish', ran.err)


class Shell(unittest.TestCase):
    """A shell with rsslag on its PATH and rsslag's completion script loaded."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        os.symlink(contract.binary, f'{self.directory.name}/rsslag')
        for name in ('one.rsslag', 'with blank.rsslag'):
            with open(f'{self.directory.name}/{name}', 'w', encoding='utf-8'):
                pass
        os.mkdir(f'{self.directory.name}/sub')

    def output_of(self, *argv):
        path = f'{self.directory.name}:{os.environ.get("PATH", "/usr/bin:/bin")}'
        done = subprocess.run(argv, cwd=self.directory.name, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              env=contract.environment(PATH=path, HOME=self.directory.name), timeout=contract.TIMEOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout.decode()


@needs('bash')
class Bash(Shell):
    # Splits the line as readline does: at blanks, = and :.
    DRIVER = r'''
        compopt() { echo "option $*"; }
        . "$1"; COMP_TYPE=$2; shift 2
        COMP_LINE=$1; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_POINT=${#COMP_LINE}
        $(complete -p rsslag | sed 's/.*-F \([^ ]*\).*/\1/')
        for reply in "${COMPREPLY[@]}"; do echo "reply $reply"; done
    '''

    def replies(self, line, kind=9, last=None):
        """`last`: the word at the cursor, which may contain blanks."""
        words = re.findall(r"[=:]+|[^\s=:]+", line if last is None else line.removesuffix(last))
        if last is not None:
            words.append(last)
        elif line.endswith(' '):
            words.append('')
        lines = self.output_of('bash', '--norc', '-c', self.DRIVER, 'bash', str(SCRIPTS / 'rsslag.bash'), str(kind), line, *words)
        return {text[6:] for text in lines.splitlines() if text.startswith('reply ')}, 'option -o nospace' in lines

    def test_what_is_offered(self):
        for line, replies, more in (('rsslag live --m', {'--mode', '--max-size', '--memory'}, False),
                                    ('rsslag snapsh', {'snapshot'}, False),
                                    ('rsslag live --mode ', {'events', 'counts'}, False),
                                    ('rsslag live --mode=', {'events', 'counts'}, False),
                                    ('rsslag live --mode=c', {'counts'}, False),
                                    ('rsslag live --threads top', {'top:'}, True),
                                    ('rsslag live --threads top:', set(), False),
                                    ("rsslag report --assert 'peak_r", {'peak_rss'}, False),
                                    ('rsslag maps --columns Rss,Pss_D', {'Rss,Pss_Dirty'}, False),
                                    (r'rsslag maps --columns Rss\,Pss_D', {'Rss,Pss_Dirty'}, False),
                                    ('rsslag replay one', {'one.rsslag'}, False),
                                    ('rsslag live --record=on', {'one.rsslag'}, False),
                                    ('rsslag replay w', {'with blank.rsslag'}, False),
                                    ('rsslag mount s', {'sub'}, False),
                                    ('rsslag mem -u roo', {'root'}, False),
                                    ('rsslag live -- mkfif', {'mkfifo'}, False)):
            found, nospace = self.replies(line)
            self.assertEqual(found, replies, line)
            if not more:
                self.assertFalse(nospace, line)

    def test_a_process_has_its_name_next_to_it_if_all_are_listed(self):
        with Named('aim') as aim, Named('aim 2') as other:
            common = os.path.commonprefix((aim.pid, other.pid))
            self.assertTrue({aim.pid, other.pid} <= self.replies(f'rsslag live {common}')[0])
            self.assertTrue({f'{aim.pid} (aim)', f'{other.pid} (aim 2)'} <= self.replies(f'rsslag live {common}', 63)[0])
            if not any(pid.startswith(aim.pid) and pid != aim.pid for pid in os.listdir('/proc')):
                self.assertEqual(self.replies(f'rsslag live {aim.pid}', 63)[0], {aim.pid})
            self.assertEqual(self.replies('rsslag live --comm aim')[0], {'aim', 'aim\\ 2'})
            for last, reply in (('aim\\ ', 'aim\\ 2'), ('"aim ', 'aim 2'), ("'aim ", 'aim 2')):
                self.assertEqual(self.replies(f'rsslag live --comm {last}', last=last)[0], {reply})
            self.assertEqual(self.replies(f'rsslag live -p {other.pid},{aim.pid}')[0], {f'{other.pid},{aim.pid}'})


@needs('fish')
class Fish(Shell):
    def replies(self, line):
        script = SCRIPTS / 'rsslag.fish'
        text = self.output_of('fish', '--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', '--', str(script), line)
        return {each.partition('\t')[0] for each in text.splitlines()}

    def test_what_is_offered(self):
        for line, replies in (('rsslag live --m', {'--mode', '--max-size', '--memory'}), ('rsslag snapsh', {'snapshot'}),
                              ('rsslag live --mode ', {'events', 'counts'}), ('rsslag live --mode=c', {'--mode=counts'}),
                              ('rsslag replay o', {'one.rsslag'}), ('rsslag mount s', {'sub/'}), ('rsslag mem -u roo', {'root'}),
                              ('rsslag live --record=on', {'--record=one.rsslag'}), ('rsslag mem --user=roo', {'--user=root'}),
                              ('rsslag live -- mkfif', {'mkfifo'})):
            self.assertEqual(self.replies(line), replies, line)


@contract.long_only('it reads what zsh draws on a terminal')
@needs('zsh')
class Zsh(Shell):
    def shown(self, line):
        """What zsh draws when TAB is pressed after `line`, without colours and cursor movements."""
        os.symlink(SCRIPTS / 'rsslag.zsh', f'{self.directory.name}/_rsslag')
        master, slave = pty.openpty()
        environment = contract.environment(PATH=f'{self.directory.name}:{os.environ["PATH"]}', HOME=self.directory.name,
                                           TERM='xterm', PS1='', COLUMNS='200')
        process = subprocess.Popen(['zsh', '-f', '-i'], stdin=slave, stdout=slave, stderr=slave, cwd=self.directory.name,
                                   env=environment, start_new_session=True)
        os.close(slave)
        got = bytearray()

        def seen(pattern):
            if select.select([master], [], [], 0.05)[0]:
                got.extend(os.read(master, 65536))
            return re.search(pattern, got)

        try:
            os.write(master, b'fpath=($HOME $fpath); autoload -Uz compinit; compinit -u -D; setopt list_rows_first; '
                             b'zstyle ":completion:*" format "OFF""ERED"; PS1=; print LOA""DED\n')
            contract.wait_until(lambda: seen(b'LOADED'))
            got.clear()
            os.write(master, line.encode() + b'\t')
            contract.wait_until(lambda: seen(rb'(?s)OFFERED.*\x1b'))
            os.write(master, b'\x15print E""ND\n')
            contract.wait_until(lambda: seen(b'END'))
        finally:
            process.kill()
            process.wait()
            os.close(master)
            os.remove(f'{self.directory.name}/_rsslag')
        return re.sub(r'\x1b\[[\d;?]*[a-zA-Z=>]', '', got.decode())

    def test_what_is_offered(self):
        for line, words in (('rsslag live --m', ('--mode ', '--max-size ')), ('rsslag re', ('record ', 'replay ', 'report ')),
                            ('rsslag live --mode ', ('events', 'counts')), ('rsslag demo s', ('single ', 'storm ')),
                            ('rsslag live --record=', ('one.rsslag', 'sub/')),
                            ("rsslag report --assert 'peak_", ('peak_rss', 'peak_lag'))):
            shown = self.shown(line)
            for word in words:
                self.assertIn(word, shown.split('OFFERED')[1], shown)


if __name__ == '__main__':
    contract.main()
