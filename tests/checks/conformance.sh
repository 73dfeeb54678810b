#!/usr/bin/env bash
# Compares docs/conformance.md with the rows of the specifications of jobs, pod groups, the pod grouper and queues, with
# the cases of users, with the tests that the page names, and with the weaknesses planted for these tests. The rules are
# at the top of the page. tests/planted/run.sh checks that a test finds its planted weakness.
source "$(dirname "$0")/../../scripts/lib/common.sh"
source "$ROOT/tests/planted/list.sh"
source "$ROOT/tests/checks/test_names.sh"
cd "$ROOT"
export LC_ALL=C
page=docs/conformance.md
bad=0
complain() { printf '%s\n' "$*"; bad=1; }

# ---- the rows that the page must have ----
declare -A wanted=()
want() { for row in "$@"; do wanted[$row]=1; done; }
for phase in New Pending Running Restarting Completing Terminating Aborting Aborted Completed Terminated Failed; do
  for action in SyncJob AbortJob RestartJob RestartTask RestartPod RestartPartition TerminateJob CompleteJob ResumeJob EnqueueJob; do
    want "8.1 $phase × $action"
  done
done
for step in PEND RUN1 RUN2 RUN3a RUN3b RUN3c RUN3d RUN4 RUN5 REST1 REST2 REST3 DRAIN; do want "8.2 $step"; done
want "1.3 "{schedulerName,minAvailable,volumes,tasks,policies,plugins,runningEstimate,queue,maxRetry} \
  "1.3 "{ttlSecondsAfterFinished,priorityClassName,minSuccess,networkTopology} \
  "1.4 "{name,replicas,minAvailable,template,policies,topologyPolicy,maxRetry,dependsOn,partitionPolicy} \
  "1.5 policy."{action,event,events,exitCode,timeout} "1.5 dependsOn."{name,iteration} \
  "1.5 partitionPolicy."{totalPartitions,partitionSize,minPartitions,networkTopology} \
  "1.5 networkTopology."{mode,highestTierAllowed,highestTierName} "1.5 volume."{mountPath,volumeClaimName,volumeClaim} \
  "1.6 state."{phase,reason,message,lastTransitionTime} "1.6 "{minAvailable,taskStatusCount,pending,running,succeeded} \
  "1.6 "{failed,terminating,unknown,version,retryCount,runningDuration,controlledResources,conditions}
want "1.9 E"{1..12} "1.9 A"{1..13}
want "1.10 K"{1..19} "1.10 K23" "10 Z"{1..10}
want "1.2 Y"{1..4} "1.7 Y"{5,6} "1.8 Y7" "2.1 D"{1..10} "15.3 Y9"
want "3.2 H"{10,11} "3.3 H"{1..9} "3.4 O"{1..5} "6 Q"{1..7} "7.1 R1"
want "9.8 G"{1..13} "9.10 L"{1..7}
want "9.11 N"{1..11} "12.2 T"{1..5} "13 M"{1..5}
want "11.2 I"{1..8} "11.1 I"{9..11} "11.4 I"{12..14} "11.5 I"{15..17}
want "2.3 C"{1..15} "2.3 C16"{a..d} "2.3 C17" "2.4 P"{1..8} "2.5 V"{1..5} "2.6 U"{1..5} "2.7 X"{1..8}
want "B FNV-1" "B minResources" "B quota usage" "B partition label" "B restart budget" "B final phase" \
  "B Running to Pending" "B Restarting to Pending" "B svc keys" "B conditions" "B PodGroupPending"
want S{1..44} W{1..34} C{1..18}
# Rows of the pod group controller and the pod grouper. Letters count the parts of a row that have tests of their own.
want "PC 13."{1..4} "PC 13."{5{a,b},{6..12}} "PC W"{1,2{a,b},{3..8},9{a,b},10,11{a,b},{12..18},19{a..c},20{a,b},21{a..d}} "PC S"{1..24}
want "PG 14."{1,2{a,b},3,4,5{a,b},{6..8},9{a,b},{10..12},13{a,b},14,15{a,b},16,17,18{a,b},19,20{a..d},21{a..c},22,23} \
  "PG 14."{24{a,b},{25..29},30{a,b},31,32{a,b},{33..41},42{a,b},43,44{a,b},45{a,b},{46..51},52{a,b},53{a,b},{54..73},74{a,b},{75..77}}
want "PG G"{{1..13},14{a..c},15,16{a,b},17,18,19{a,b},{20..25},26{a..c},{27..29},30{a,b},31{a,b},{32..36},37{a..k},38,39{a..c},{40..42}} \
  "PG G"{43{a..f},{44..46},47{a,b},{48..55},56{a..c},57{a..d},58,59{a..c},60}
want "PG 12."{1{a..c},2,3,4{a,b},5{a..f},{6..8},9{a,b},10,11{a,b},12{a..c},13,14{a,b},15{a,b},16,17{a,b},18{a,b}}
# Rows of the queue controller.
want "QC 13."{{1..15},16{a..n},17,18} "QC Q"{1..15} "QC S"{{1..9},10{a,b}}
# Cases of users of upstream, by the ids of docs/spec/user-cases.md. Only those with odd numbers are required.
want "UC U"{{1..49..2},9b,{51..73..2}}

# ---- the page ----
read_planted
declare -A seen=() used=()
while IFS='|' read -r _ row _ test planted _; do
  row=${row# } row=${row% } test=${test# } test=${test% } planted=${planted# } planted=${planted% }
  [[ $row == row || $row == ---* ]] && continue
  [[ -n ${wanted[$row]:-} ]] || complain "$page: '$row' is no row of the specification"
  [[ -z ${seen[$row]:-} ]] || complain "$page: $row stands there twice"
  seen[$row]=1
  if [[ $test == "open: "?* ]]; then
    [[ $planted == – ]] || complain "$page: $row is open, and yet something is planted for it"
    continue
  fi
  if ! [[ $test =~ ^\`([^\`\ ]+_test\.cc)\`\ \`([^\`\ ]+)\`$ ]]; then
    complain "$page: $row: '$test' is neither a file and a test nor open: and what is missing"
    continue
  fi
  file=${BASH_REMATCH[1]} name=${BASH_REMATCH[2]}
  test_exists "$file" "$name" || complain "$page: $row: there is no test $name in $file"
  [[ $planted == "none: "?* ]] && continue
  id=${planted//\`/}
  used[$id]=1
  if [[ $planted != "\`$id\`" || -z ${planted_file[$id]:-} ]]; then
    complain "$page: $row: '$planted' is neither an entry of tests/planted nor none: and why"
  elif [[ $name != ${planted_test[$id]} ]]; then
    complain "$page: $row: the weakness $id is planted for ${planted_test[$id]}, not for $name"
  fi
done < <(grep '^|' "$page")
for row in "${!wanted[@]}"; do
  [[ -n ${seen[$row]:-} ]] || complain "$page: the row $row is missing"
done

# ---- planted weaknesses ----
for id in "${planted_ids[@]}"; do
  target=${planted_target[$id]}
  # No row names the entries attack-*.
  if [[ $id == attack-* ]]; then
    for name in ${planted_test[$id]//:/ }; do
      git grep -qE "^TEST(_F)?\(${name/./, }\)" -- '*_test.cc' || complain "tests/planted: $id: there is no test $name"
    done
  fi
  [[ -n ${used[$id]:-} || $id == attack-* ]] || is_seeds "${planted_test[$id]}" || complain "tests/planted: $page does not name $id"
  for part in ${planted_parts[$id]}; do
    file=${planted_file[$part]}
    if [[ ! -f $file ]]; then
      complain "tests/planted: $id: there is no file $file"
    elif [[ -z ${planted_old[$part]} ]]; then
      complain "tests/planted: $id replaces nothing"
    else
      count=$(occurrences "$(<"$file")" "${planted_old[$part]}")
      [[ $count == 1 ]] || complain "tests/planted: the text of $part stands $count times in $file"
    fi
    [[ ${planted_old[$part]} != "${planted_new[$part]}" ]] || complain "tests/planted: $part changes nothing"
  done
  git grep -qE "(basalt_test|add_executable)\($target\b" -- '*CMakeLists.txt' ||
    complain "tests/planted: $id: there is no test target $target"
done
exit $bad
